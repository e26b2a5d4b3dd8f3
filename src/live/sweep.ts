import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from '../database/database.ts';
import type { Log } from '../log.ts';
import { findRevisions } from '../revisions/revisions.ts';
import type { Hub } from './hub.ts';

/** Users whose revisions are read by one statement. */
const USERS = 2000;

/** A sweep that failed is repeated after this time. */
const RETRY_MS = 1000;

/** Finds changes that were not announced to this gateway. */
export type Sweep = {
  /** Sweeps now, and again if a sweep is running: it may have read before the gap. */
  start(): void;
  stop(): Promise<void>;
};

/**
 * Compares the revisions of connected users with what their subscribers have seen, every so many milliseconds, until it
 * is stopped. `onSweep` is called at each.
 */
export function startSweep(
  em: EntityManager,
  hub: Hub,
  everyMs: number,
  log: Log,
  onSweep: () => void,
): Sweep {
  const stopping = new AbortController();
  let isDue = false;
  let running: Promise<void> | undefined;
  const start = () => {
    isDue = true;
    running ??= run().finally(() => {
      running = undefined;
    });
  };
  const timer = setInterval(() => {
    onSweep();
    start();
  }, everyMs);

  return {
    start,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (isDue && !stopping.signal.aborted) {
      isDue = false;
      try {
        await sweep();
      } catch (error) {
        isDue = true;
        log.warn({ err: error }, 'sweeping for changes failed; trying again');
        await pause(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function sweep(): Promise<void> {
    const users = hub.users();
    for (let first = 0; first < users.length && !stopping.signal.aborted; first += USERS) {
      const some = users.slice(first, first + USERS);
      const found = await findRevisions(em, some);
      for (const user of some) hub.compare(user, found.get(user));
    }
  }
}
