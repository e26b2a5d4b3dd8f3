import type { ServerResponse } from 'node:http';
import type { KeySet } from '../auth/key-set.ts';
import { isNeverFetched } from '../auth/key-set-prefetch.ts';
import type { Database } from '../database/database.ts';
import { findPendingMigrations } from '../database/migrate.ts';
import { sendText } from '../http/reply.ts';
import type { LiveEvents } from '../live/live-events.ts';
import type { Log } from '../log.ts';

/** What the readiness of a gateway is read from. */
export type Readiness = {
  database: Database;
  isStopping(): boolean;
  live: Pick<LiveEvents, 'state'>;
  keySet: Pick<KeySet, 'age'>;
};

/** How each part stands: `ok`, or what is the matter. */
type Checks = Record<'process' | 'database' | 'migrations' | 'key_set' | 'live_events', string>;

const OK = 'ok';

/** Answers that the process lives, whatever the state of what it depends on. */
export function serveHealth(response: ServerResponse): void {
  answer(response, 200, { status: 'ok' });
}

/**
 * Returns 200 if requests should be sent here: the process is not stopping, the database responds and lacks no
 * migration, and there are keys to verify tokens with; otherwise 503. Live events are reported and decide nothing:
 * while they are interrupted everything else is served.
 */
export async function serveReadiness(response: ServerResponse, from: Readiness, log: Log): Promise<void> {
  const checks: Checks = {
    process: from.isStopping() ? 'is stopping' : OK,
    ...(await checkDatabase(from.database, log)),
    key_set: isNeverFetched(from.keySet) ? 'was never fetched' : OK,
    live_events: from.live.state,
  };
  const { live_events: _, ...required } = checks;
  const isReady = Object.values(required).every((state) => state === OK);
  answer(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', checks });
}

/** The pool bounds every wait, so this answers in bounded time. */
async function checkDatabase(database: Database, log: Log): Promise<Pick<Checks, 'database' | 'migrations'>> {
  try {
    const pending = await findPendingMigrations(database);
    const migrations = pending.length === 0 ? OK : `${pending.join(', ')} not applied: npm run migrate`;
    return { database: OK, migrations };
  } catch (error) {
    log.warn({ err: error }, 'not ready');
    return { database: 'does not answer', migrations: 'unknown' };
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.setHeader('Cache-Control', 'no-store');
  sendText(response, status, 'application/json', JSON.stringify(body));
}
