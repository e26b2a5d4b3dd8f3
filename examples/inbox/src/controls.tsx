import { GatewayError } from '@workspace-account/client';
import {
  type ComponentProps,
  createContext,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useContext,
  useState,
} from 'react';
import { describeError } from './texts.tsx';

const PATHS = {
  alert: 'M12 9v4m0 3.5v.01M10.3 4 2.9 17a2 2 0 0 0 1.7 3h14.8a2 2 0 0 0 1.7-3L13.7 4a2 2 0 0 0-3.4 0z',
  bell: 'M6 9a6 6 0 1 1 12 0c0 6 2.5 7 2.5 7h-17S6 15 6 9m4 11a2.2 2.2 0 0 0 4 0',
  box: 'm12 3 8.5 4.5v9L12 21l-8.5-4.5v-9zm0 9 8.5-4.5M12 12 3.5 7.5M12 12v9',
  check: 'm5 13 4.5 4.5L19.5 7',
  inbox: 'M3 13h5l2 3h4l2-3h5M6 5h12l3 8v6H3v-6z',
  message: 'M4 5h16v12H9l-5 4z',
  plan: 'M9 4H5v16h14V4h-4M9 3h6v3H9zm-1 9 1.5 1.5L12 11m2 1h2m-8 4.5L9.5 18l2.5-2.5m2 1h2',
  question: 'M9.2 9.5a2.8 2.8 0 1 1 4.2 2.4c-1 .6-1.4 1-1.4 2.1m0 3v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z',
  settings: 'M4 7h8m6 0h2M4 17h2m6 0h8M15 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM9 20a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
  x: 'm6 6 12 12M18 6 6 18',
};

export type IconName = keyof typeof PATHS;

/** A decorative icon in the color of the text. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);

type ButtonProps = ComponentProps<'button'> & { label: string; icon?: IconName };

/** A button that submits no form unless it has the type `submit`. If it shows an icon, its label is a tooltip. */
export const Button = ({ label, icon, ...props }: ButtonProps) => (
  <button type="button" {...(icon && { className: 'icon-button', title: label })} {...props}>
    {icon ? <Icon name={icon} /> : label}
  </button>
);

type SendButtonProps = Omit<ButtonProps, 'disabled'> & { isReady?: boolean; isSending: boolean };

/** A button that sends something. Until it is ready, it keeps the focus, and its action is ignored by `useAnswer`. */
export const SendButton = ({ isReady = true, isSending, ...props }: SendButtonProps) => (
  <Button className="primary" aria-disabled={!isReady} disabled={isSending} {...props} />
);

type FormProps = Pick<SendButtonProps, 'isReady' | 'isSending'> & {
  action: string;
  submit(fields: FormData): void;
  children: ReactNode;
};

/** A form whose button, named by `action`, submits its fields. */
export function Form({ action, submit, children, ...props }: FormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit(new FormData(event.currentTarget));
      }}
    >
      {children}
      <SendButton label={action} type="submit" {...props} />
    </form>
  );
}

/**
 * Returns a handler of a button that vanishes when it is pressed. The focus moves to the heading before the button, so
 * that the next Tab continues there.
 */
export const leaving =
  (act: () => unknown) =>
  ({ currentTarget }: MouseEvent) => {
    const headings = [...document.querySelectorAll<HTMLElement>('h1, h2[tabindex]')];
    const isBefore = (heading: Element) =>
      (heading.compareDocumentPosition(currentTarget) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    headings.findLast(isBefore)?.focus();
    act();
  };

type Toast = { text: string; isProblem?: boolean; undo?: () => void };

/** Each toast has its own time, also if its text is that of the one before. */
type NumberedToast = Toast & { number: number };

const ToastContext = createContext<(toast: Toast) => void>(() => undefined);

/** Returns a function that shows a short message, optionally with a button that undoes what it reports. */
export const useToast = () => useContext(ToastContext);

/** Returns a function that waits for a change, and shows a toast if it fails. */
export function useReport(): (change: Promise<unknown>) => Promise<void> {
  const showToast = useToast();
  return async (change) => {
    try {
      await change;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const when = error.retryAfter === undefined ? '' : ` Try again in ${error.retryAfter} s.`;
      showToast({ text: `Not saved. ${describeError(error)}${when}`, isProblem: true });
    }
  };
}

/** Shows the latest toast until its animation ends, which pauses while the pointer or the focus is on it. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toast, setToast] = useState<NumberedToast>();
  const show = useCallback(
    (next: Toast) => setToast((last) => ({ ...next, number: (last?.number ?? 0) + 1 })),
    [],
  );
  const clear = () => setToast(undefined);
  const close = () => {
    // Toasts are behind everything else, so the heading before them is not where the user was.
    document.querySelector('h1')?.focus();
    clear();
  };
  const undo = () => {
    close();
    toast?.undo?.();
  };
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status" onAnimationEnd={clear}>
        {toast && (
          <div key={toast.number} className="toast" data-problem={toast.isProblem}>
            <p>{toast.text}</p>
            {toast.undo && <Button label="Undo" onClick={undo} />}
            <Button label="Close message" icon="x" onClick={close} />
          </div>
        )}
      </div>
    </ToastContext>
  );
}
