import { type GatewayError, toGatewayError } from './gateway-error.ts';
import type { Listeners } from './observable.ts';

/** After so many failures, a query is given up: see docs/graphql-api.md#retries. */
const MAX_RETRIES = 5;

/** The longest delay of what is tried again for ever, such as a stream. */
export const MAX_DELAY_SECONDS = 30;

/** Returns the milliseconds before a retry, from 0: 1, 2, 4, 8 … seconds, multiplied by a random number from 0.5 to 1. */
export const backoff = (retry: number, maxSeconds = 16) =>
  1000 * Math.min(2 ** retry, maxSeconds) * (0.5 + Math.random() / 2);

/** Whether there was no token or no reply, so that nobody knows whether the request was executed. */
const isUnanswered = ({ code }: GatewayError) => code === 'NETWORK_ERROR' || code === 'NO_TOKEN';

/** Whether a query should be sent again after a while. */
const isTemporary = (error: GatewayError) => isUnanswered(error) || error.code === 'INTERNAL_ERROR';

/** Returns the milliseconds before the next attempt of a query, or `undefined` if there is none. */
export function queryDelay(error: GatewayError, retry: number): number | undefined {
  return isTemporary(error) && retry < MAX_RETRIES ? backoff(retry) : undefined;
}

/** Does the same for a query whose result is shown: it also waits for the rate limit. */
export function shownQueryDelay(error: GatewayError, retry: number): number | undefined {
  if (error.code !== 'RATE_LIMITED') return queryDelay(error, retry);
  return 1000 * (error.retryAfter ?? 1) + 1000 * Math.random();
}

/** Does the same for a mutation, each of which is safe to send again: see docs/graphql-api.md#retries. */
export function mutationDelay(error: GatewayError, retry: number): number | undefined {
  return isUnanswered(error) && retry < 2 ? backoff(retry) : undefined;
}

/**
 * Attempts until success, or until `delay` returns none. `onRetry` receives each error with the time of the next attempt,
 * for which `waker` does not wait.
 * @throws {GatewayError} the last error, or the reason of the signal
 */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  delay: (error: GatewayError, retry: number) => number | undefined,
  signal: AbortSignal,
  onRetry?: (error: GatewayError) => void,
  waker?: Listeners,
): Promise<Result> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const milliseconds = signal.aborted ? undefined : delay(error, failures);
      if (milliseconds === undefined) throw error;
      onRetry?.(error.retriedAt(Date.now() + milliseconds));
      await sleep(milliseconds, signal, waker);
    }
  }
}

/** Waits, but not longer than until the waker notifies. @throws the reason of the signal when it is aborted */
export function sleep(milliseconds: number, signal: AbortSignal, waker?: Listeners): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(resolve), milliseconds);
    const removeListener = waker?.add(() => end(resolve));
    const abort = () => end(() => reject(signal.reason));
    const end = (settle: () => void) => {
      clearTimeout(timer);
      removeListener?.();
      signal.removeEventListener('abort', abort);
      settle();
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
}
