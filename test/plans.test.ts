import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { poolOptions, readPoolOptions } from '../src/database/pool.ts';
import { encodeCursor } from '../src/values/cursor.ts';
import { fillTables, insertNotifications, insertWorkspaces } from './support/bulk-records.ts';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { countScanned, explainAll } from './support/plans.ts';
import { asMember, asPlatform, payloads } from './support/records.ts';
import { recordStatements } from './support/statements.ts';
import { member, signToken } from './support/tokens.ts';

/*
 * The cost of a read depends on the page, not on the size of the table or the user's other records. The statements are
 * the gateway's own; PostgreSQL runs them on analyzed tables with custom and generic plans.
 */

/**
 * The number of one user's records, all of one kind, status, project and task. Ten times as many have the same plans.
 */
const MANY = 20_000;

let gateway: TestGateway;
let client: pg.Client;
/** Has the settings of the pool of MikroORM. */
let main: pg.Client;
beforeAll(async () => {
  gateway = await startTestGateway();
  const { database } = gateway;
  await fillTables(database, ['notification', 'workspace'], async () => {
    await database.sql(
      `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                                 occurred_at, created_at, updated_at)
       select 'user-' || n % 4, 'n-' || n, n,
              (array['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'])[n / 4 % 4 + 1],
              (array['active', 'resolved', 'dismissed'])[n / 4 % 3 + 1],
              'task-' || case n / 4 % 3 when 0 then n else n / 480 end, 'p-' || n / 480 % 5, 'A title',
              '{"taskStatus":"errored"}', now(), now() - n * interval '1 min', now()
         from generate_series(1, 8000) n`,
    );
    await database.sql(
      `insert into workspace (user_id, id, revision, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb,
                              keep_active, created_at, updated_at)
       select 'user-' || n % 4, gen_random_uuid(), n, 'p-' || n / 4 % 5,
              (array['creating', 'starting', 'running', 'stopping', 'stopped', 'error'])[n / 4 % 6 + 1],
              'shared', 1, 1, 1, false, now() - n * interval '1 min', now()
         from generate_series(1, 8000) n`,
    );
    await Promise.all([
      insertNotifications(database, 'heavy-user', MANY),
      insertWorkspaces(database, 'heavy-user', MANY),
      database.sql(`insert into user_revision (user_id) select 'user-' || n from generate_series(0, 7999) n`),
    ]);
  });
  const options = { url: database.url, poolSize: 1, timeoutMs: 30_000 };
  client = new pg.Client(readPoolOptions(options));
  main = new pg.Client(poolOptions(options));
  await Promise.all([client.connect(), main.connect()]);
});
afterAll(async () => {
  await Promise.all([client.end(), main.end()]);
  await gateway.close();
});

/** Returns the maximum number of records that a statement of `work` scans. */
async function measureCost(table: string, work: () => Promise<unknown>, on = client): Promise<number> {
  const statements = (await recordStatements(work)).filter(({ text }) => text.includes(`"${table}"`));
  expect(statements.length).toBeGreaterThan(0);
  const plans = await explainAll(on, statements);
  return Math.max(...plans.map((plan) => countScanned(plan, table)));
}

const read = (user: string, query: string) => () => asMember(gateway, user, query);

const filters: [list: 'notifications' | 'workspaces', args: string][] = [
  ...['status: ACTIVE', 'status: [ACTIVE, RESOLVED]', ''].flatMap((status) =>
    ['kind: TASK_FAILED', 'kind: [TASK_FAILED, TASK_RESPONSE_READY]', ''].map(
      (kind): ['notifications', string] => ['notifications', `${status} ${kind}`.trim()],
    ),
  ),
  ['notifications', 'projectId: "p-1"'],
  ['notifications', 'projectId: "p-1" status: ACTIVE kind: [TASK_FAILED, TASK_RESPONSE_READY]'],
  ['notifications', 'taskId: "task-3"'],
  ['notifications', 'taskId: "task-3" kind: TASK_FAILED status: [RESOLVED, DISMISSED]'],
  ['notifications', 'taskId: "task-3" projectId: "p-3"'],
  ...['projectId: "p-1"', ''].flatMap((project) =>
    ['status: RUNNING', 'status: [RUNNING, ERROR, STARTING]', ''].map((status): ['workspaces', string] => [
      'workspaces',
      `${project} ${status}`.trim(),
    ]),
  ),
];
const tables = { notifications: 'notification', workspaces: 'workspace' };

/** A page reads one record more than it returns, and may read a page for every combination of kinds and statuses. */
const PAGE = 6;
const COMBINATIONS = 12;
const MAX_SCANNED = PAGE * (COMBINATIONS + 1);

test.each(filters)('a page of %s(%s) scans a limited number of records', async (list, args) => {
  for (const user of ['user-3', 'heavy-user']) {
    const { [list]: all } = await asMember(gateway, user, `{ ${list}(first: 100) { edges { cursor } } }`);
    const { cursor } = all.edges[50];
    const pages = ['first: 5', `first: 5, after: "${cursor}"`, 'last: 5', `last: 5, before: "${cursor}"`];
    for (const page of [...pages, `first: 5, after: "${cursor}", before: "${all.edges[0].cursor}"`]) {
      const query = `{ ${list}(${page} ${args}) { nodes { __typename } } }`;
      expect(await measureCost(tables[list], read(user, query)), `${user} ${page}`).toBeLessThanOrEqual(
        MAX_SCANNED,
      );
    }
  }
});

const narrowing = filters.filter(([, args]) => args !== '');

test.each(narrowing)('counting %s(%s) scans only matching records', async (list, args) => {
  const query = `{ ${list}(first: 1 ${args}) { totalCount } }`;
  const { totalCount } = (await asMember(gateway, 'user-3', query))[list];
  expect(totalCount).toBeGreaterThan(0);
  expect(await measureCost(tables[list], read('user-3', query))).toBeLessThanOrEqual(totalCount + PAGE);
  expect(await measureCost(tables[list], read('heavy-user', query))).toBeLessThanOrEqual(PAGE);
});

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
/** Twenty minutes in the middle of the user's records, of which there is one per minute. */
const times = `createdFrom: "${minutesAgo(MANY / 2 + 20)}", createdBefore: "${minutesAgo(MANY / 2)}"`;

test.each([
  'projectId: "p"',
  'taskId: "task"',
  'taskId: "task", projectId: "p"',
  times,
  `${times}, status: DISMISSED`,
  `${times}, projectId: "p"`,
  `${times}, taskId: "task"`,
])('a page of many notifications by %s scans a limited number of records', async (args) => {
  for (const page of ['first: 5', 'last: 5']) {
    const query = `{ notifications(${page}, ${args}) { nodes { __typename } } }`;
    expect((await asMember(gateway, 'heavy-user', query)).notifications.nodes).toHaveLength(5);
    expect(await measureCost('notification', read('heavy-user', query)), page).toBeLessThanOrEqual(
      MAX_SCANNED,
    );
  }
});

test('counting a period scans only records of that period', async () => {
  const query = `{ notifications(first: 1, ${times}) { totalCount } }`;
  expect((await asMember(gateway, 'heavy-user', query)).notifications.totalCount).toBe(20);
  expect(await measureCost('notification', read('heavy-user', query))).toBeLessThanOrEqual(20 + PAGE);
});

const searches = [
  'kind=task_failed',
  'kind=task_failed&status=active',
  'kind=task_failed&kind=task_response_ready&status=active&status=resolved',
];

test.each(searches)(
  'GET /user/notifications?%s scans a limited number of records; without a limit, only those that it returns',
  async (search) => {
    for (const user of ['user-3', 'heavy-user']) {
      const token = await member(user);
      const get = (page: string) => () =>
        rest(gateway, 'GET', `/user/notifications?${search}&${page}`, { token });
      expect(await measureCost('notification', get('limit=5')), user).toBeLessThanOrEqual(MAX_SCANNED);
      expect(await measureCost('notification', get('limit=3&offset=3')), user).toBeLessThanOrEqual(
        MAX_SCANNED,
      );
      const { body } = await get('')();
      // Each record is scanned twice: to find its position and to read its columns.
      expect(await measureCost('notification', get('')), user).toBeLessThanOrEqual(
        2 * body.notifications.length,
      );
    }
  },
);

test.each(['notification', 'workspace'])('reads %ss by limit and offset in index order', async (table) => {
  const token = await member('heavy-user');
  for (const page of ['limit=5', 'limit=3&offset=3']) {
    const get = () => rest(gateway, 'GET', `/user/${table}s?${page}`, { token });
    expect(await measureCost(table, get), page).toBeLessThanOrEqual(PAGE);
  }
});

test('a page of users by prefix scans only the users of the page', async () => {
  const token = await signToken({ sub: 'dashboard', scope: 'platform:read' });
  const after = encodeCursor(['user-55']);
  for (const args of ['', 'prefix: "user-5"', `prefix: "user-5", after: "${after}"`, 'prefix: "x"']) {
    const query = `{ users(first: 5, ${args}) { nodes { id } } }`;
    const cost = await measureCost('user_revision', () => graphql(gateway, query, {}, { token }), main);
    expect(cost, args).toBeLessThanOrEqual(PAGE);
  }
});

const task = { id: 'task-47', projectId: 'p' };
const changes: [what: string, work: () => Promise<unknown>][] = [
  ['finding', read('user-3', '{ notification(id: "n-47") { __typename } }')],
  ['dismissing', read('user-3', 'mutation { dismissNotification(input: { id: "n-47" }) { __typename } }')],
  [
    'resolving',
    () =>
      asPlatform(
        gateway,
        `mutation { resolveNotifications(input: { userId: "user-3", taskId: "task-47", reason: ANSWERED }) {
          __typename
        } }`,
      ),
  ],
  [
    'publishing',
    () =>
      asPlatform(
        gateway,
        'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }',
        { input: { userId: 'user-3', id: 'one-more', task, title: 'T', payload: payloads.task_failed } },
      ),
  ],
];

test.each(changes)('%s a notification scans a limited number of records', async (_what, work) => {
  expect(await measureCost('notification', work)).toBeLessThanOrEqual(PAGE);
});
