import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import { findRevisionsByUser } from '../revisions/revisions.ts';
import type { Hub } from './hub.ts';

/** The maximum number of users whose revisions are read by one statement. */
const MAX_USERS = 2000;

/** A failed sweep is repeated after this delay. */
const RETRY_MS = 1000;

/** Finds changes that were not announced to this gateway. */
export type Sweep = {
  /** If a sweep is running, another sweep follows, because the running sweep may have read too early. */
  sweepNow(): void;
  stop(): Promise<void>;
};

/**
 * Every `intervalMs` until it is stopped, reads the current revisions of all users who have subscribers. A subscriber
 * reads again if it has not seen its user's current revisions. `onInterval` is called at every interval, but not by
 * `sweepNow`.
 */
export function startSweep(
  database: Database,
  hub: Hub,
  intervalMs: number,
  log: Log,
  onInterval: () => void,
): Sweep {
  const stopping = new AbortController();
  let isDue = false;
  let running: Promise<void> | undefined;
  const sweepNow = () => {
    isDue = true;
    running ??= run().finally(() => {
      running = undefined;
    });
  };
  const timer = setInterval(() => {
    onInterval();
    sweepNow();
  }, intervalMs);

  return {
    sweepNow,
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
        log.warn({ err: error }, 'sweeping for changes failed; retrying');
        await pause(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function sweep(): Promise<void> {
    const users = hub.users();
    for (let first = 0; first < users.length && !stopping.signal.aborted; first += MAX_USERS) {
      const batch = users.slice(first, first + MAX_USERS);
      const found = await findRevisionsByUser(database, batch);
      for (const user of batch) hub.catchUp(user, found.get(user));
    }
  }
}
