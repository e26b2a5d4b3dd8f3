import { setTimeout as pause } from 'node:timers/promises';

/** Maximum time that a scrape waits for a read. The next scrape reports a later result. */
const MAX_WAIT_MS = 1000;

/**
 * Returns a `collect` function that sets gauges from the database at most once per interval. A slow or unreachable
 * database never fails a scrape: the values are delayed or, after `reset`, missing.
 */
export function collectAtMostEvery(
  intervalMs: number,
  { set, reset }: { set(): Promise<void>; reset(): void },
): () => Promise<void> {
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  return async () => {
    if (Date.now() - readAt < intervalMs) return;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await Promise.race([reading, pause(MAX_WAIT_MS, undefined, { ref: false })]);
  };

  /** Never rejects. */
  async function read(): Promise<void> {
    try {
      await set();
      readAt = Date.now();
    } catch {
      // A missing value is better than an outdated one.
      reset();
    }
  }
}
