import type { ServerResponse } from 'node:http';
import type { Database } from '../database/database.ts';
import { pendingMigrations } from '../database/migrate.ts';
import type { Log } from '../log.ts';

/** Answers that the process lives, whatever the state of what it depends on. */
export function answerHealth(response: ServerResponse): void {
  answer(response, 200, { status: 'ok' });
}

/** Answers whether requests can be served: the database answers and lacks no migration; otherwise 503 with why not. */
export async function answerReadiness(response: ServerResponse, database: Database, log: Log): Promise<void> {
  const reason = await whyNotReady(database, log);
  if (reason === undefined) answer(response, 200, { status: 'ready' });
  else answer(response, 503, { status: 'not_ready', reason });
}

/** The pool bounds every wait, so this answers in bounded time. */
async function whyNotReady(database: Database, log: Log): Promise<string | undefined> {
  try {
    const pending = await pendingMigrations(database);
    return pending.length === 0 ? undefined : `The database lacks ${pending.join(', ')}.`;
  } catch (error) {
    log.warn({ err: error }, 'not ready');
    return 'The database does not answer.';
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  });
  response.end(text);
}
