import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { CHANNEL, parsePayload } from '../../src/live/listener.ts';
import { renewEpoch } from '../../src/revisions/database-epoch.ts';

/** A database of the tests. */
export type TestDatabase = {
  url: string;
  /** Runs SQL on a connection of the test. */
  sql(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
};

/** Creates a database from the migrated template. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase('template_gateway');
}

/**
 * Creates a database with tables, opens it as the gateway does, and connects `locker`, which can take locks that
 * statements wait for.
 */
export async function openTestDatabase(poolSize: number) {
  const database = await createTestDatabase();
  const opened = await openDatabase({ url: database.url, poolSize, timeoutMs: 5000 });
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  const close = async () => {
    await locker.end();
    await opened.close();
    await database.drop();
  };
  return { database, opened, locker, close };
}

/**
 * Opens a session until the end of the test, and begins a transaction with a statement, such as one that takes locks.
 */
export async function beginTransaction(
  { url }: Pick<TestDatabase, 'url'>,
  statement: string,
): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  onTestFinished(() => session.end());
  await session.query('begin');
  await session.query(statement);
  return session;
}

/** Renews the epoch of a database, as the command does. */
export async function renewEpochOf({ url }: Pick<TestDatabase, 'url'>): Promise<void> {
  const opened = await openDatabase({ url, poolSize: 1, timeoutMs: 5000 });
  await renewEpoch(opened.fork());
  await opened.close();
}

/** Creates a database without tables. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('template0');
}

/** The length at which `pg_stat_activity` truncates statements. That of the sweep is shorter. */
const MAX_SHOWN = 1023;

/** Returns how many sessions of a database are waiting for a lock, except those of the sweep of requests. */
export async function waitingSessions({ sql }: Pick<TestDatabase, 'sql'>): Promise<number> {
  const rows = await sql(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and not (query like '%"request_state"%' and query not like '%$1%' and length(query) < ${MAX_SHOWN})`,
  );
  return rows.length;
}

/** Wraps an existing database. `drop` does nothing; every statement opens its own connection. */
export function existingDatabase(url: string): TestDatabase {
  return {
    url,
    async sql(text, values = []) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const query = client.query<Record<string, unknown>>(text, [...values]);
      return (await query.finally(() => client.end())).rows;
    },
    drop: async () => undefined,
  };
}

/** This worker's connections to the server. */
let server: pg.Pool | undefined;
/** The option of `create database` by which it copies files. */
let strategy: string | undefined;

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(inject('postgresUrl'));
  server ??= openPool(url);
  // Without fsync, copying files is faster than writing them to the log. PostgreSQL 14 always copies.
  strategy ??= await findCopyStrategy(server);
  await server.query(`create database ${name} template ${template} ${strategy}`);
  url.pathname = `/${name}`;
  const pool = openPool(url);
  return {
    url: url.href,
    sql: async (text, values = []) => (await pool.query<Record<string, unknown>>(text, [...values])).rows,
    async drop() {
      await pool.end();
      await server?.query(`drop database if exists ${name} with (force)`);
    },
  };
}

async function findCopyStrategy(pool: pg.Pool): Promise<string> {
  const isLater = `select from pg_settings where name = 'server_version_num' and setting::int >= 150000`;
  return (await pool.query(isLater)).rowCount === 1 ? 'strategy file_copy' : '';
}

/**
 * Reuses connections, because opening one takes as long as ten statements. Idle connections do not keep the worker
 * alive.
 */
function openPool({ href }: URL): pg.Pool {
  const pool = new pg.Pool({ connectionString: href, allowExitOnIdle: true });
  // A test may have terminated an idle session.
  return pool.on('error', () => undefined);
}

/** Records the announcements that gateways send. */
export type Announcements = {
  /** Every announced change: user, topic and revision. */
  changes(): (readonly [string, string, number])[];
  close(): Promise<void>;
};

/** Listens on the announcement channel of a database. */
export async function recordAnnouncements({ url }: TestDatabase): Promise<Announcements> {
  const client = new pg.Client({ connectionString: url });
  const changes: (readonly [string, string, number])[] = [];
  client.on('notification', ({ payload }) => {
    for (const { user, topic, revision } of parsePayload(payload)?.changes ?? [])
      changes.push([user, topic, revision]);
  });
  await client.connect();
  await client.query(`listen ${CHANNEL}`);
  return { changes: () => changes, close: () => client.end() };
}
