import type { ServerResponse } from 'node:http';
import type { KeySet } from '../auth/key-set.ts';
import { isAwaitingFirstFetch } from '../auth/key-set-prefetch.ts';
import type { Database } from '../database/database.ts';
import { findPendingMigrations } from '../database/migrate.ts';
import { sendText } from '../http/send-text.ts';
import type { LiveEvents } from '../live/live-events.ts';
import type { Log } from '../log.ts';

/** The parts of a gateway that determine its readiness. */
export type Readiness = {
  database: Database;
  isStopping(): boolean;
  live: Pick<LiveEvents, 'problem'>;
  keySet: Pick<KeySet, 'age'>;
};

/** The state of each part: `ok` or the problem. */
type Checks = Record<'process' | 'database' | 'migrations' | 'key_set' | 'live_events', string>;

const OK = 'ok';

/** Replies 200 while the process is running, whatever the state of its dependencies. */
export function serveHealth(response: ServerResponse): void {
  sendStatus(response, 200, { status: OK });
}

/**
 * Replies 200 if the gateway can serve requests: the process is not stopping, the database is reachable with all
 * migrations applied, and the key set was fetched; otherwise 503. The state of live events is only informational,
 * because all other requests are served while they are interrupted.
 */
export async function serveReadiness(response: ServerResponse, from: Readiness, log: Log): Promise<void> {
  const checks: Checks = {
    process: from.isStopping() ? 'is stopping' : OK,
    ...(await checkDatabase(from.database, log)),
    key_set: isAwaitingFirstFetch(from.keySet) ? 'was never fetched' : OK,
    live_events: from.live.problem ?? OK,
  };
  const { live_events: _, ...required } = checks;
  const isReady = Object.values(required).every((state) => state === OK);
  sendStatus(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', checks });
}

/** Checks the database. The pool's timeout limits how long this takes. */
async function checkDatabase(database: Database, log: Log): Promise<Pick<Checks, 'database' | 'migrations'>> {
  try {
    const pending = await findPendingMigrations(database);
    const migrations = pending.length === 0 ? OK : `${pending.join(', ')} not applied: npm run migrate`;
    return { database: OK, migrations };
  } catch (error) {
    log.warn({ err: error }, 'readiness check failed');
    return { database: 'unreachable', migrations: 'unknown' };
  }
}

function sendStatus(response: ServerResponse, status: number, body: object): void {
  response.setHeader('Cache-Control', 'no-store');
  sendText(response, status, 'application/json', JSON.stringify(body));
}
