import type { AccountEvent } from './account-events.ts';
import { readEvents } from './event-stream.ts';
import { type GatewayError, isOffline, toGatewayError } from './gateway-error.ts';
import type { Connection } from './inbox-types.ts';
import type { Listeners } from './observable.ts';
import { backoff, MAX_DELAY_SECONDS, sleep } from './retries.ts';
import type { Session } from './transport.ts';

/** Whom a stream serves. */
export type EventHandlers = {
  /** Receives the events that arrived together. */
  onEvents(events: readonly AccountEvent[]): void;
  onConnection(connection: Connection): void;
  /** Notifies when the network comes or goes, and when the user does not want to wait. */
  readonly waker: Listeners;
};

/**
 * Keeps a stream open until aborted: resumes it after the last event with delays that grow while it fails, and at once
 * when it is woken. Closes it when the network goes. A token that expires is replaced without a delay.
 */
export async function followEvents(
  session: Session,
  after: string | undefined,
  { onEvents, onConnection, waker }: EventHandlers,
  signal: AbortSignal,
  earlierFailures = 0,
): Promise<void> {
  let cursor = after;
  let failures = earlierFailures;
  let rejected: string | undefined;
  while (!signal.aborted) {
    let liveToken: string | undefined;
    let error: GatewayError | undefined;
    onConnection({ state: 'connecting', retryAt: undefined, error: undefined });
    const network = new AbortController();
    const removeListener = waker.add(() => {
      if (isOffline()) network.abort(toGatewayError(new Error('The network went.')));
    });
    try {
      await readEvents({
        session,
        after: cursor,
        rejected,
        signal: AbortSignal.any([signal, network.signal]),
        onEvents(events, token) {
          if (signal.aborted) return;
          cursor = events.at(-1)?.cursor ?? cursor;
          onEvents(events);
          if (liveToken === undefined) onConnection({ state: 'live', retryAt: undefined, error: undefined });
          liveToken = token;
          failures = 0;
        },
      });
      // The data was deleted or restored: the cursor is of another epoch.
      cursor = undefined;
    } catch (thrown) {
      error = toGatewayError(thrown);
    } finally {
      removeListener();
    }
    if (signal.aborted) return;
    const hasExpired = error?.code === 'UNAUTHENTICATED' && liveToken !== undefined;
    rejected = hasExpired ? liveToken : undefined;
    if (hasExpired) continue;
    failures += 1;
    const delay = Math.max(backoff(failures, MAX_DELAY_SECONDS), 1000 * (error?.retryAfter ?? 0));
    const retryAt = Date.now() + delay;
    onConnection({ state: isOffline() ? 'offline' : 'waiting', retryAt, error: error?.retriedAt(retryAt) });
    // If it is aborted, the loop ends.
    await sleep(delay, signal, waker).catch(() => undefined);
  }
}
