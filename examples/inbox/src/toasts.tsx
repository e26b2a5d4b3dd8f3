import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { Button, Icon } from './controls.tsx';

const SHOWN_FOR_MS = 8000;

type Toast = { text: string; isProblem?: boolean; undo?: () => void };

const ToastContext = createContext<(toast: Toast) => void>(() => undefined);

/** Returns a function that shows a short message, optionally with a button that undoes what it reports. */
export const useToast = () => useContext(ToastContext);

/** Shows the latest toast. It stays while the pointer or the focus is on it. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toast, setToast] = useState<Toast>();
  const [isHeld, setIsHeld] = useState(false);
  useEffect(() => {
    if (toast === undefined || isHeld) return;
    const timer = setTimeout(setToast, SHOWN_FOR_MS, undefined);
    return () => clearTimeout(timer);
  }, [toast, isHeld]);
  const close = (undo?: () => void) => {
    undo?.();
    setToast(undefined);
    setIsHeld(false);
  };
  const [hold, release] = [() => setIsHeld(true), () => setIsHeld(false)];
  const holding = { onPointerEnter: hold, onPointerLeave: release, onFocus: hold, onBlur: release };
  return (
    <ToastContext value={setToast}>
      {children}
      <div className="toasts" role="status" {...holding}>
        {toast && (
          <div className="toast" data-problem={toast.isProblem}>
            <p>{toast.text}</p>
            {toast.undo && <Button onClick={() => close(toast.undo)}>Undo</Button>}
            <Button className="icon-button" aria-label="Close message" onClick={() => close()}>
              <Icon name="x" />
            </Button>
          </div>
        )}
      </div>
    </ToastContext>
  );
}
