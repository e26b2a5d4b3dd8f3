import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { openPipelinedPool, preparedPoolOptions } from '../../src/database/pool.ts';
import { type Claim, claimDue } from '../../src/delivery/claim.ts';
import { retryDeliveries } from '../../src/delivery/deliveries.ts';
import { firstKey, followChanges, followChangesAfter } from '../../src/delivery/follow-changes.ts';
import { requireOperator } from '../../src/delivery/outcome.ts';
import { createProvider, createProviders } from '../../src/delivery/providers.ts';
import { createChoice } from '../../src/delivery/turns.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { countScanned, explainAfter, explainAll } from '../support/plans.ts';
import { recordStatements } from '../support/statements.ts';

/* The cost of a claim depends on what is claimed, not on the backlog. */

const BACKLOG = 20_000;
const FAILED = 20;
const options = { poolSize: 2, timeoutMs: 30_000 };

let testDatabase: TestDatabase;
let database: Database;
let client: pg.Client;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, ...options });
  client = new pg.Client(preparedPoolOptions({ url: testDatabase.url, ...options }));
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.close();
  await testDatabase.drop();
});

const limits = { concurrency: 50, concurrencyPerProvider: 20, concurrencyPerUser: 5, attemptMs: 8000 };

/** The maximum number of deliveries that a claim finds. */
const FOUND = 1000;

/** Creates a sender's claims of push messages, in which the provider "paused" is paused. */
function createClaims(running: Claim[] = []): () => Promise<Claim[]> {
  const failing = createProvider();
  for (let user = 1; user <= 5; user += 1)
    failing.record({ userId: `failing-${user}`, target: '' }, requireOperator('403'), performance.now());
  const others = createProviders();
  const choose = createChoice((channel, name) => (name === 'paused' ? failing : others(channel, name)));
  return () =>
    claimDue(database, 'push', FOUND, (due) =>
      choose({ due, running, limits, isFull: due.length === FOUND, now: performance.now() }),
    );
}

/** Returns the statements that concern deliveries. */
async function recordDeliveries(work: () => Promise<unknown>) {
  const statements = (await recordStatements(work)).filter(({ text }) => text.includes('"delivery"'));
  expect(statements.length).toBeGreaterThan(0);
  return statements;
}

/** Adds deliveries of channel and state, given as columns for each `n`; those with the highest are the oldest. */
const addDeliveries = ({ sql }: TestDatabase, columns: string, rows: number) =>
  sql(
    `insert into delivery (user_id, provider, channel, state, notification_id, target, due_at, expires_at, created_at,
                           updated_at)
     select ${columns}, 'n-' || n, 'target', now() - n * interval '1 ms', now() + interval '1 day', now(), now()
       from generate_series(1, $1::int) n`,
    [rows],
  );

/** Replaces the deliveries by pending push messages, given as `user_id, provider` for each `n`. */
async function fillBacklog(columns: string, rows: number): Promise<void> {
  await testDatabase.sql('truncate delivery');
  await addDeliveries(testDatabase, `${columns}, 'push', 'pending'`, rows);
  await testDatabase.sql('vacuum analyze delivery');
}

/** Adds failed deliveries of requests, and a backlog without notifications. */
async function fillOther(other: TestDatabase): Promise<void> {
  await other.sql(`insert into contact (user_id, chat_member_id, created_at, updated_at)
    select 'user-' || n, 'U', now(), now() from generate_series(0, 99) n`);
  await other.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload, request_state,
                               occurred_at, created_at, updated_at)
     select 'user-' || n % 100, 'n-' || n, n, 'plan_requested', 'active', 't-' || n, 'p', 'A title', '{}', 'open',
            now(), now(), now()
       from generate_series(1, $1::int) n`,
    [FAILED],
  );
  const state = `case when n <= ${FAILED} then 'failed' else 'pending' end`;
  await addDeliveries(other, `'user-' || n % 100, 'chat', 'chat', ${state}`, BACKLOG);
}

test('claiming, prepared while the table was empty, scans only the deliveries that it finds', async () => {
  const other = await createTestDatabase();
  await other.sql('vacuum analyze delivery');
  const pool = openPipelinedPool({ url: other.url, ...options });
  const connection = await pool.connect();
  const statements = await recordDeliveries(() =>
    claimDue(database, 'chat', 5, () => ({ chosen: [], later: [] })),
  );
  const plans = await explainAfter(connection, statements, () => fillOther(other));
  for (const plan of plans) expect(countScanned(plan, 'delivery')).toBeLessThanOrEqual(5);
  connection.release();
  await pool.end();
  await other.drop();
});

const users = Array.from({ length: 100 }, (_, n) => `user-${n}`);

/** The maximum number of deliveries that a statement scans to find them. */
test.each([
  // The user's own, each in the index and in the table.
  [
    'ending those of a user',
    2 * (BACKLOG / 100),
    (database: Database) => followChanges(database, ['user-1']),
  ],
  // Steps of 1,000.
  ['ending those of all users', 2 * FOUND, (database: Database) => followChanges(database, users)],
  ['a step of the sweep', 2 * FOUND, (database: Database) => followChangesAfter(database, firstKey)],
  // One pass over the index to find the failed ones, and these.
  [
    'retrying',
    BACKLOG + 3 * FAILED,
    (database: Database) => retryDeliveries(database.fork(), { channels: ['chat'] }),
  ],
])('%s scans at most %d deliveries', async (_what, limit, send) => {
  // They have no notification, so they are ended, and both statements are sent.
  await fillBacklog(`'user-' || n % 100, 'host'`, 1000);
  const other = await createTestDatabase();
  await fillOther(other);
  await other.sql('vacuum analyze');
  const statements = await recordDeliveries(() => send(database));
  const connection = new pg.Client(preparedPoolOptions({ url: other.url, ...options }));
  await connection.connect();
  for (const statement of statements) {
    // To change what was found, a pass over so small a table is cheaper than looking up 1,000.
    const allowed = statement.text.startsWith('update') ? BACKLOG : limit;
    for (const plan of await explainAll(connection, [statement]))
      expect(countScanned(plan, 'delivery')).toBeLessThanOrEqual(allowed);
  }
  await connection.end();
  await other.drop();
});

test.each([
  ['one user and a few others', `case when n <= 5 then 'few-' || n else 'many' end, 'host'`],
  ['as many users', `'user-' || n, 'host'`],
  ['as many users and providers', `'user-' || n, 'host-' || n`],
  ['a paused provider', `'user-' || n, 'paused'`],
])('a claim from 100,000 deliveries of %s scans as many as it finds, once', async (_whose, columns) => {
  await fillBacklog(columns, 100_000);
  const claim = createClaims();
  await claim();
  const sent = await recordDeliveries(claim);
  const plans = await explainAll(client, sent);

  // The statements that find, postpone, claim and read deliveries.
  expect(sent.length).toBeLessThanOrEqual(4);
  for (const plan of plans) expect(countScanned(plan, 'delivery')).toBeLessThanOrEqual(FOUND);
});

test('10,000 deliveries that must wait delay another by eleven claims, and few are found again', async () => {
  for (const [columns, claims] of [
    // Of each 1,000, 100 stay due.
    [`case n when 1 then 'other' else 'many' end, 'host'`, 11],
    [`'user-' || n, case n when 1 then 'host' else 'paused' end`, 10],
  ] as const) {
    await fillBacklog(columns, 10_000);
    const running: Claim[] = [];
    const claim = createClaims(running);
    for (let round = 1; round <= claims; round += 1) {
      expect(running.map(({ notificationId }) => notificationId)).not.toContain('n-1');
      running.push(...(await claim()));
    }

    expect(running.at(-1)?.notificationId).toBe('n-1');
  }
});

test('in a backlog of many users, each has a turn before any has another', async () => {
  await fillBacklog(`'user-' || n % 500, 'host-' || n % 50`, 5000);
  const claim = createClaims();
  const claimed: Claim[] = [];
  while (claimed.length < 500) claimed.push(...(await claim()));

  expect(new Set(claimed.slice(0, 500).map(({ userId }) => userId)).size).toBe(500);
});

test('a due delivery is found behind many that are not due', async () => {
  await fillBacklog(`'user-' || n, 'host'`, 5000);
  await testDatabase.sql(`update delivery set due_at = now() + interval '1 h' where user_id <> 'user-1'`);
  const [claimed, ...others] = await createClaims()();

  expect(claimed?.userId).toBe('user-1');
  expect(others).toEqual([]);
});
