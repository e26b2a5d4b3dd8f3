import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { COOLDOWN_MS } from './fetched-keys.ts';
import type { KeySet } from './key-set.ts';

/** Fetches a key set in the background, retrying until it succeeds. Logs the first failure and the recovery. */
export function prefetchKeySet(keySet: KeySet, log: Log): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const fetchUntilSuccess = async () => {
    let isReported = false;
    while (!signal.aborted && isAwaitingFirstFetch(keySet)) {
      const failure = await keySet.fetch?.();
      if (!isAwaitingFirstFetch(keySet)) break;
      if (!isReported && failure !== undefined) {
        log.warn(
          { err: failure },
          'fetching the key set from AUTH_JWKS_URL failed; the gateway is not ready until it succeeds',
        );
        isReported = true;
      }
      await pause(COOLDOWN_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    if (isReported && !isAwaitingFirstFetch(keySet)) log.info('fetched the key set from AUTH_JWKS_URL');
  };
  void fetchUntilSuccess();
  return { stop: () => stopping.abort() };
}

/** Whether a key set must be fetched and never was. */
export function isAwaitingFirstFetch({ age }: Pick<KeySet, 'age'>): boolean {
  return age !== undefined && age() === undefined;
}
