import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { COOLDOWN_MS, type KeySet } from './key-set.ts';

/** Fetches a key set in the background until it was fetched once, and logs whether that fails. */
export function fetchFirst(keySet: KeySet, log: Log): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const fetchUntilStopped = async () => {
    let isReported = false;
    while (!signal.aborted && isNeverFetched(keySet)) {
      const failure = await keySet.fetch?.();
      if (!isNeverFetched(keySet)) break;
      if (!isReported && failure !== undefined) {
        log.warn({ err: failure }, 'The key set at AUTH_JWKS_URL cannot be fetched: not ready until it is');
        isReported = true;
      }
      await pause(COOLDOWN_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    if (isReported && !isNeverFetched(keySet)) log.info('The key set was fetched');
  };
  void fetchUntilStopped();
  return { stop: () => stopping.abort() };
}

/** Whether the keys have to be fetched and never were. */
export function isNeverFetched({ age }: Pick<KeySet, 'age'>): boolean {
  return age !== undefined && age() === undefined;
}
