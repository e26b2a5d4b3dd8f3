import type { ComponentProps, MouseEvent, ReactNode } from 'react';

const PATHS = {
  alert: 'M12 9v4m0 3.5v.01M10.3 4 2.9 17a2 2 0 0 0 1.7 3h14.8a2 2 0 0 0 1.7-3L13.7 4a2 2 0 0 0-3.4 0z',
  bell: 'M6 9a6 6 0 1 1 12 0c0 6 2.5 7 2.5 7h-17S6 15 6 9m4 11a2.2 2.2 0 0 0 4 0',
  check: 'm5 13 4.5 4.5L19.5 7',
  keyboard: 'M3 6h18v12H3zm4 4v.01M11 10v.01M15 10v.01M8 14h8',
  message: 'M4 5h16v12H9l-5 4z',
  plan: 'M9 4H5v16h14V4h-4M9 3h6v3H9zm-1 9 1.5 1.5L12 11m2 1h2m-8 4.5L9.5 18l2.5-2.5m2 1h2',
  question: 'M9.2 9.5a2.8 2.8 0 1 1 4.2 2.4c-1 .6-1.4 1-1.4 2.1m0 3v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z',
  x: 'm6 6 12 12M18 6 6 18',
};

export type IconName = keyof typeof PATHS;

const KIND_ICONS: Readonly<Record<string, IconName>> = {
  PLAN_REQUESTED: 'plan',
  QUESTION_REQUESTED: 'question',
  TASK_FAILED: 'alert',
  TASK_RESPONSE_READY: 'message',
};

/** The icon of a kind of notification, also of one that later versions of the gateway add. */
export const iconOfKind = (kind: string): IconName => KIND_ICONS[kind] ?? 'bell';

/** A decorative icon in the color of the text. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg className="wa-icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);

type ButtonProps = ComponentProps<'button'> & { label: string; icon?: IconName };

/** A button that submits no form unless it has the type `submit`. If it shows an icon, its label is a tooltip. */
export const Button = ({ label, icon, className = '', ...props }: ButtonProps) => (
  <button
    type="button"
    className={`wa-button ${icon ? 'wa-icon-button' : ''} ${className}`}
    {...(icon && { title: label, 'aria-label': label })}
    {...props}
  >
    {icon ? <Icon name={icon} /> : label}
  </button>
);

type SendButtonProps = Omit<ButtonProps, 'disabled'> & { isReady?: boolean; isSending: boolean };

/** A button that sends something. Until it is ready, it keeps the focus, and its action is ignored by `useAnswer`. */
export const SendButton = ({ isReady = true, isSending, ...props }: SendButtonProps) => (
  <Button className="wa-primary" aria-disabled={!isReady} disabled={isSending} {...props} />
);

type FormProps = Pick<SendButtonProps, 'isReady' | 'isSending'> & {
  action: string;
  submit(fields: FormData): void;
  /** Receives the fields after each change. */
  keep?(fields: FormData): void;
  children: ReactNode;
};

/** A form whose button, named by `action`, submits its fields. */
export const Form = ({ action, submit, keep, children, ...props }: FormProps) => (
  <form
    className="wa-form"
    onInput={({ currentTarget }) => keep?.(new FormData(currentTarget))}
    onSubmit={(event) => {
      event.preventDefault();
      submit(new FormData(event.currentTarget));
    }}
  >
    {children}
    <SendButton label={action} type="submit" {...props} />
  </form>
);

/** Moves the focus from something that vanishes to the title of its inbox. */
export const focusTitle = (element: Element) =>
  element.closest('.wa-inbox')?.querySelector<HTMLElement>('.wa-title')?.focus();

/**
 * Returns a handler of a button that vanishes when it is pressed. The focus moves to the heading before the button, so
 * that the next Tab continues there.
 */
export const leaving =
  (act: () => unknown) =>
  ({ currentTarget }: MouseEvent) => {
    const headings = [...document.querySelectorAll<HTMLElement>('h1[tabindex], h2[tabindex], h3[tabindex]')];
    const isBefore = (heading: Element) =>
      (heading.compareDocumentPosition(currentTarget) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    headings.findLast(isBefore)?.focus();
    act();
  };
