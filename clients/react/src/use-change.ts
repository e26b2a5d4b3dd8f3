import { GatewayError } from '@workspace-account/client';
import { useCallback, useRef, useState } from 'react';

/** How far the latest change has come that a hook has made. */
export type ChangeProgress =
  | { readonly state: 'idle' | 'sending' | 'stored'; readonly error: undefined }
  | { readonly state: 'failed'; readonly error: GatewayError };

/** The result of a change, or why it was refused. */
export type Changed<Value> =
  | { readonly value: Value; readonly error: undefined }
  | { readonly value: undefined; readonly error: GatewayError };

/** What hooks return that change something. */
export type Changing = {
  /** How far the latest change has come. Show `change.error`. */
  readonly change: ChangeProgress;
};

/** Returns the progress of changes, and a function that waits for one. The promise that it returns does not reject. */
export function useChange(): Changing & { track<Value>(change: Promise<Value>): Promise<Changed<Value>> } {
  const [change, setChange] = useState<ChangeProgress>({ state: 'idle', error: undefined });
  const latest = useRef(0);
  const track = useCallback(async <Value>(sent: Promise<Value>): Promise<Changed<Value>> => {
    latest.current += 1;
    const number = latest.current;
    setChange({ state: 'sending', error: undefined });
    try {
      const value = await sent;
      if (latest.current === number) setChange({ state: 'stored', error: undefined });
      return { value, error: undefined };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // Also if a later change is on its way.
      setChange({ state: 'failed', error });
      return { value: undefined, error };
    }
  }, []);
  return { change, track };
}
