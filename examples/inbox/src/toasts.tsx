import { GatewayError } from '@workspace-account/client';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { Button, Icon } from './controls.tsx';
import { describeError } from './texts.ts';

type Toast = { text: string; isProblem?: boolean; undo?: () => void };

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
  const [toast, setToast] = useState<Toast>();
  const close = () => setToast(undefined);
  const undo = () => {
    toast?.undo?.();
    close();
  };
  return (
    <ToastContext value={setToast}>
      {children}
      <div className="toasts" role="status" onAnimationEnd={close}>
        {toast && (
          <div key={toast.text} className="toast" data-problem={toast.isProblem}>
            <p>{toast.text}</p>
            {toast.undo && <Button onClick={undo}>Undo</Button>}
            <Button className="icon-button" aria-label="Close message" onClick={close}>
              <Icon name="x" />
            </Button>
          </div>
        )}
      </div>
    </ToastContext>
  );
}
