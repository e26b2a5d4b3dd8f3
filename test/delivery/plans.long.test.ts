import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { openPipelinedPool, poolOptions } from '../../src/database/pool.ts';
import { transaction } from '../../src/database/transaction.ts';
import { type Cursor, claimDue } from '../../src/delivery/claim.ts';
import { retryDeliveries } from '../../src/delivery/deliveries.ts';
import { cancelUnwantedDeliveries, insertDeliveries } from '../../src/delivery/queue.ts';
import { toTime } from '../../src/values/time.ts';
import { fillTables } from '../support/bulk-records.ts';

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
  await fillTables(testDatabase, ['delivery'], () =>
    testDatabase.sql(
      `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at,
                             updated_at)
       select 'user-' || n % 100, 'n-' || n, 'push', 'target', case n when 1 then 'healthy' else 'paused' end,
              (array['pending', 'sending', 'delivered'])[n % 3 + 1], now() - n * interval '1 s',
              now() + interval '1 day', now(), now()
         from generate_series(1, $1::int) n`,
      [BACKLOG],
    ),
  );
  database = await openDatabase({ url: testDatabase.url, ...options });
  client = new pg.Client(poolOptions({ url: testDatabase.url, ...options }));
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.close();
  await testDatabase.drop();
});

const channels = { email: true, push: true, chat: true, emailDelay: 60 };
const published = { users: ['user-1'], ids: ['n-1'], now: toTime(new Date()) };

const push = { channel: 'push', free: 50, freePerProvider: 20, perUser: 5 } as const;
const paused = { channel: 'push', provider: 'paused', free: 0, failing: [] as string[] } as const;

/** The maximum number of deliveries that a statement scans, if it was prepared while the table was empty. */
test.each([
  [
    'publishing',
    10,
    (database: Database) =>
      transaction(database, ['user-1'], (run) => run(insertDeliveries, { ...published, ...channels })),
  ],
  // The user's own.
  [
    'cancelling',
    3 * (BACKLOG / 100),
    (database: Database) =>
      transaction(database, ['user-1'], (run) => run(cancelUnwantedDeliveries, { users: ['user-1'] })),
  ],
  ['claiming', 300, (database: Database) => claimDue(database, [{ ...push, channel: 'chat' }], [], [])],
  // One pass over the index to find the failed ones, and these.
  [
    'retrying',
    BACKLOG + 3 * FAILED,
    (database: Database) => retryDeliveries(database.fork(), { channels: ['chat'] }),
  ],
])('%s scans at most %d deliveries', async (_what, limit, send) => {
  const other = await createTestDatabase();
  await other.sql('vacuum analyze delivery');
  const pool = openPipelinedPool({ url: other.url, ...options });
  const connection = await pool.connect();
  const sent = await recordStatements(() => send(database));
  const statement = sent.find(({ text }) => text.includes('"delivery"')) ?? expect.unreachable();
  const [plan = expect.unreachable()] = await explainAfter(connection, [statement], async () => {
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
    await other.sql(
      `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at,
                             updated_at)
       select 'user-' || n % 100, 'n-' || n, 'chat', '', 'chat',
              case when n <= $2::int then 'failed' else 'pending' end, now(), now(), now(), now()
         from generate_series(1, $1::int) n`,
      [BACKLOG, FAILED],
    );
  });
  expect(countScanned(plan, 'delivery')).toBeLessThanOrEqual(limit);
  connection.release();
  await pool.end();
  await other.drop();
});

test('publishing finds superseded notifications without reading all of a user', async () => {
  const { sql, url, drop } = await createTestDatabase();
  const connection = new pg.Client(poolOptions({ url, ...options }));
  await connection.connect();
  const [statement = expect.unreachable()] = (
    await recordStatements(() =>
      transaction(database, ['user-1'], (run) => run(insertDeliveries, { ...published, ...channels })),
    )
  ).filter(({ text }) => text.includes('"delivery"'));
  const [plan = expect.unreachable()] = await explainAfter(connection, [statement], () =>
    sql(
      `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload, request_state,
                                 occurred_at, created_at, updated_at)
       select 'user-1', 'n-' || n, 10000 - n, 'plan_requested', case n when 1 then 'active' else 'resolved' end, 't', 'p',
              'A title', '{}', 'none', now(), now(), now() - case when n > 3 then interval '1 h' else '0' end
         from generate_series(1, 2000) n`,
    ),
  );
  expect(countScanned(plan, 'notification')).toBeLessThanOrEqual(10);
  await connection.end();
  await drop();
});

test('a claim skips the backlog of a paused provider', async () => {
  await testDatabase.sql(`update delivery set state = 'pending', due_at = now() - interval '1 h'`);
  const { claims } = await claimDue(database, [push], [paused], []);
  expect(claims.map(({ provider }) => provider)).toEqual(['healthy']);
});

test('a claim takes no more of a provider than its share, the oldest first', async () => {
  await testDatabase.sql(`update delivery set state = 'pending', due_at = now() - interval '1 h'`);
  const { claims } = await claimDue(database, [push], [], []);
  const providers = claims.map(({ provider }) => provider);
  expect(providers.filter((provider) => provider === 'paused')).toHaveLength(20);
  expect(providers.filter((provider) => provider === 'healthy')).toHaveLength(1);
});

/** Replaces the deliveries by others, given as `user_id, provider` for each `n`. */
async function fillBacklog(columns: string, rows: number): Promise<void> {
  await testDatabase.sql('truncate delivery');
  await testDatabase.sql(
    `insert into delivery (user_id, provider, notification_id, channel, target, state, due_at, expires_at, created_at,
                           updated_at)
     select ${columns}, 'n-' || n, 'push', 'target', 'pending', now() - n * interval '1 ms', now() + interval '1 day',
            now(), now()
       from generate_series(1, $1::int) n`,
    [rows],
  );
  await testDatabase.sql('vacuum analyze delivery');
}

const LARGE_BACKLOG = 100_000;

test.each([
  ['one user and a few others', `case when n <= 5 then 'few-' || n else 'many' end, 'host'`, 1500],
  ['as many users', `'user-' || n, 'host'`, 1500],
  ['as many users and providers', `'user-' || n, 'host-' || n`, 3000],
])('a claim from 100,000 deliveries of %s scans a bounded number', async (_whose, columns, limit) => {
  await fillBacklog(columns, LARGE_BACKLOG);
  const sent = await recordStatements(() => claimDue(database, [push], [], []));
  const claim = sent.find(({ text }) => text.includes('"delivery"')) ?? expect.unreachable();
  await testDatabase.sql(`update delivery set state = 'pending', due_at = now() where state = 'sending'`);
  const settings = ['enable_seqscan', 'enable_bitmapscan', 'jit'].map((name) => `set ${name} = off`);
  await client.query(settings.join('; '));
  const plans = await explainAll(client, [claim]);

  expect(plans).toHaveLength(2);
  for (const plan of plans) expect(countScanned(plan, 'delivery')).toBeLessThan(limit);
});

/** Claims until no cursor is left, and stores that the messages were delivered. Returns the users in order. */
async function claimRound(isDone: (users: string[]) => boolean): Promise<string[]> {
  const users: string[] = [];
  let cursors: Cursor[] = [];
  for (let count = 0; count < LARGE_BACKLOG && !isDone(users); count += 1) {
    const result = await claimDue(database, [push], [], cursors);
    users.push(...result.claims.map(({ userId }) => userId));
    cursors = result.cursors;
    await testDatabase.sql(`update delivery set state = 'delivered' where state = 'sending'`);
  }
  return users;
}

test('in a backlog of one user, others are claimed at once', async () => {
  await fillBacklog(`case when n <= 5 then 'few-' || n else 'many' end, 'host'`, 10_000);
  const { claims } = await claimDue(database, [push], [], []);
  const users = claims.map(({ userId }) => userId).sort();
  expect(users).toEqual(['few-1', 'few-2', 'few-3', 'few-4', 'few-5', ...Array(push.perUser).fill('many')]);
});

test('in a backlog of many users, each has a turn before any has another', async () => {
  await fillBacklog(`'user-' || n % 500, 'host'`, 5000);
  const users = await claimRound((claimed) => claimed.length >= 500);
  expect(users).toHaveLength(500);
  expect(new Set(users).size).toBe(500);
});

test('a due delivery is found behind many that are not due', async () => {
  await fillBacklog(`'user-' || n, case when n % 1000 = 0 then 'healthy' else 'paused' end`, 5000);
  const waiting = `update delivery set due_at = now() + interval '1 h' where provider = 'healthy'`;
  await testDatabase.sql(`${waiting} and user_id <> 'user-5000'`);
  const { claims } = await claimDue(database, [push], [paused], []);
  expect(claims.map(({ userId }) => userId)).toEqual(['user-5000']);
});
