import type { ServerResponse } from 'node:http';
import type { Database } from '../database/database.ts';
import { pendingMigrations } from '../database/migrate.ts';
import { sendText } from '../http/reply.ts';
import type { LiveEvents } from '../live/live-events.ts';
import type { Log } from '../log.ts';

/** What the readiness of a gateway is read from. */
export type Readiness = {
  database: Database;
  isStopping(): boolean;
  live: Pick<LiveEvents, 'state'>;
};

/** How each part stands: `ok`, or what is the matter. */
type Checks = Record<'process' | 'database' | 'migrations' | 'live_events', string>;

const OK = 'ok';

/** Answers that the process lives, whatever the state of what it depends on. */
export function serveHealth(response: ServerResponse): void {
  answer(response, 200, { status: 'ok' });
}

/**
 * Answers whether requests shall come here: the process does not stop, the database answers and lacks no migration;
 * otherwise 503. Live events are told of and decide nothing: while they are interrupted everything else is served.
 */
export async function serveReadiness(response: ServerResponse, from: Readiness, log: Log): Promise<void> {
  const checks: Checks = {
    process: from.isStopping() ? 'is stopping' : OK,
    ...(await checkDatabase(from.database, log)),
    live_events: from.live.state,
  };
  const isReady = [checks.process, checks.database, checks.migrations].every((state) => state === OK);
  answer(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', checks });
}

/** The pool bounds every wait, so this answers in bounded time. */
async function checkDatabase(database: Database, log: Log): Promise<Pick<Checks, 'database' | 'migrations'>> {
  try {
    const pending = await pendingMigrations(database);
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
