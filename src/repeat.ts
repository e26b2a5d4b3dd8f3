import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from './log.ts';

/** What runs independently of requests until it is stopped. */
export type Repeating = { stop(): Promise<void> };

/** Where a failed step is logged, with which message, and after how many milliseconds the next one begins. */
type OnFailure = { log: Log; message: string; retryMs: number };

/**
 * Takes a step at once, and further ones until it is stopped. A step returns the milliseconds until the next one, and may
 * end early when `signal` is aborted.
 */
export function repeat(
  step: (signal: AbortSignal) => Promise<number>,
  { log, message, retryMs }: OnFailure,
): Repeating {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await step(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, message);
        return retryMs;
      });
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
