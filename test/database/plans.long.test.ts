import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { preparedPoolOptions } from '../../src/database/pool.ts';
import { SCAN_LIMIT } from '../../src/graphql/page-arguments.ts';
import { notificationList } from '../../src/notifications/notifications.ts';
import { encodeCursor } from '../../src/values/cursor.ts';
import { workspaceList } from '../../src/workspaces/workspaces.ts';
import type { Who } from '../support/as.ts';
import { fillTables, insertRecords } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { countScanned, explainAll } from '../support/plans.ts';
import { notification, publish } from '../support/records.ts';
import { acknowledge, answer, answers, awaitRequest } from '../support/requests.ts';
import { recordStatements } from '../support/statements.ts';
import { platform, signTaskToken, signToken } from '../support/tokens.ts';

/*
 * The cost of a page has a limit, which depends neither on the size of the table nor on the user's other records. The
 * statements are the gateway's own; PostgreSQL runs them on analyzed tables with custom and generic plans.
 */

/**
 * The number of one user's records, all of one kind, status, project and task. Ten times as many have the same plans.
 */
const MANY = 20_000;

const gateway = useGateway();
let client: pg.Client;
beforeAll(async () => {
  const { database } = gateway;
  await fillTables(database, ['notification', 'workspace'], async () => {
    await insertRecords(database, 'notification', 8000, {
      user_id: "'user-' || n % 4",
      kind: "(array['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'])[n / 4 % 4 + 1]",
      status: "(array['active', 'resolved', 'dismissed'])[n / 4 % 3 + 1]",
      task_id: "'task-' || case n / 4 % 3 when 0 then n else n / 480 end",
      project_id: "'p-' || n / 480 % 5",
      payload: `'{"taskStatus":"errored"}'`,
      request_state: "case n % 48 when 0 then 'open' when 3 then 'open' else 'none' end",
    });
    const statuses = "array['creating', 'starting', 'running', 'stopping', 'stopped', 'error']";
    await insertRecords(database, 'workspace', 8000, {
      user_id: "'user-' || n % 4",
      project_id: "'p-' || n / 4 % 5",
      status: `(${statuses})[n / 4 % 6 + 1]`,
    });
    await Promise.all([
      insertRecords(database, 'notification', MANY, { user_id: "'heavy-user'" }),
      insertRecords(database, 'workspace', MANY, { user_id: "'heavy-user'" }),
      database.sql(
        `insert into user_revision (user_id, notifications, workspaces)
         select 'user-' || n, $1::int, $1::int from generate_series(0, 7999) n
         union all select 'heavy-user', $1::int, $1::int`,
        [MANY],
      ),
    ]);
  });
  const options = { url: database.url, poolSize: 1, timeoutMs: 30_000 };
  client = new pg.Client(preparedPoolOptions(options));
  await client.connect();
});
afterAll(() => client.end());

/** Returns the maximum number of records that a statement of `work` scans, after `undo`, if it is run again. */
async function measureCost(
  table: string,
  work: () => Promise<unknown>,
  undo: () => Promise<unknown> = async () => undefined,
): Promise<number> {
  const statements = (await recordStatements(work)).filter(({ text }) => text.includes(`"${table}"`));
  await undo();
  expect(statements.length).toBeGreaterThan(0);
  const plans = await explainAll(client, statements);
  return Math.max(...plans.map((plan) => countScanned(plan, table)));
}

/** Saves a user's notifications. Returns the function that undoes later changes of them. */
async function saveNotifications(user: string): Promise<() => Promise<void>> {
  const { sql } = gateway.database;
  const saved = `"saved of ${user}"`;
  await sql(`create table ${saved} as select * from notification where user_id = '${user}'`);
  return async () => {
    await sql(
      `delete from notification where user_id = '${user}' and (id, revision) not in (select id, revision from ${saved})`,
    );
    await sql(`insert into notification select * from ${saved} on conflict do nothing`);
    // A scan of an index also counts the entries of deleted records.
    await sql('vacuum (index_cleanup on) notification');
  };
}

const read = (user: string, query: string) => () => gateway.as(user).run(query);

const filters: [list: 'notifications' | 'workspaces', args: string][] = [
  ['notifications', ''],
  ['notifications', 'statuses: ACTIVE'],
  ['notifications', 'statuses: ACTIVE kinds: TASK_FAILED'],
  ['notifications', 'statuses: [ACTIVE, RESOLVED] kinds: [TASK_FAILED, TASK_RESPONSE_READY]'],
  ['notifications', 'kinds: TASK_FAILED'],
  ['notifications', 'projectIds: "p-1"'],
  ['notifications', 'projectIds: "p-1" statuses: ACTIVE kinds: [TASK_FAILED, TASK_RESPONSE_READY]'],
  ['notifications', 'taskIds: "task-3"'],
  ['notifications', 'taskIds: "task-3" kinds: TASK_FAILED statuses: [RESOLVED, DISMISSED]'],
  ['notifications', 'requestStates: OPEN'],
  ['notifications', 'requestStates: OPEN kinds: [PLAN_REQUESTED, TASK_FAILED]'],
  ['notifications', 'requestStates: [OPEN, ANSWERED]'],
  ['workspaces', ''],
  ['workspaces', 'projectIds: "p-1"'],
  ['workspaces', 'statuses: RUNNING'],
  ['workspaces', 'projectIds: "p-1" statuses: [RUNNING, ERROR, STARTING]'],
];
const tables = { notifications: 'notification', workspaces: 'workspace' };

/** A page reads one record more than it returns. */
const PAGE = 6;

/** Returns the conditions of a filter by which an index finds records. The others are checked for each of them. */
const findRange = (args: string) =>
  args.match(/taskIds: "[^"]*"|statuses: ACTIVE\b|requestStates: OPEN/)?.[0] ?? '';

/** Counts the records that a condition of {@link findRange} matches. */
async function countRange(list: keyof typeof tables, user: string, range: string): Promise<number> {
  return (await gateway.as(user).run(`{ ${list}(first: 1 filter: { ${range} }) { totalCount } }`))[list]
    .totalCount;
}

test.each(filters)('a page of %s(%s) scans a limited number of records', async (list, args) => {
  const range = findRange(args);
  const maximum = args === range && !/^(taskIds|requestStates)/.test(range) ? PAGE : SCAN_LIMIT;
  for (const user of ['user-3', 'heavy-user']) {
    const { [list]: all } = await gateway.as(user).run(`{ ${list}(first: 100) { edges { cursor } } }`);
    const { cursor } = all.edges[50];
    const pages = ['first: 5', `first: 5, after: "${cursor}"`, 'last: 5', `last: 5, before: "${cursor}"`];
    for (const page of [...pages, `first: 5, after: "${cursor}", before: "${all.edges[0].cursor}"`]) {
      const query = `{ ${list}(${page} filter: { ${args} }) { nodes { __typename } } }`;
      expect(await measureCost(tables[list], read(user, query)), `${user} ${page}`).toBeLessThanOrEqual(
        maximum,
      );
    }
  }
});

const narrowing = filters.filter(([, args]) => args !== '');

test.each(narrowing)('counting %s(%s) scans only the records that an index finds', async (list, args) => {
  const query = `{ ${list}(first: 1 filter: { ${args} }) { totalCount } }`;
  for (const user of ['user-3', 'heavy-user']) {
    const inRange = await countRange(list, user, findRange(args));
    expect(await measureCost(tables[list], read(user, query)), user).toBeLessThanOrEqual(inRange + PAGE);
  }
});

test('counting active notifications by kind, and open requests, scans only these', async () => {
  for (const user of ['user-3', 'heavy-user']) {
    const ranges = ['statuses: ACTIVE', 'requestStates: OPEN'];
    const counted = await Promise.all(ranges.map((range) => countRange('notifications', user, range)));
    const query = '{ notificationCounts { total openRequests } }';
    const cost = await measureCost('notification', read(user, query));
    expect(cost, user).toBeLessThanOrEqual(Math.max(...counted));
  }
});

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
/** Twenty minutes in the middle of the user's records, of which there is one per minute. */
const times = `createdFrom: "${minutesAgo(MANY / 2 + 20)}", createdBefore: "${minutesAgo(MANY / 2)}"`;

test.each(['projectIds: "p"', times, `${times}, statuses: DISMISSED`, `${times}, projectIds: "p"`])(
  'a page of many notifications by %s scans a limited number of records',
  async (args) => {
    for (const page of ['first: 5', 'last: 5']) {
      const query = `{ notifications(${page}, filter: { ${args} }) { nodes { __typename } } }`;
      expect((await gateway.as('heavy-user').run(query)).notifications.nodes).toHaveLength(5);
      expect(await measureCost('notification', read('heavy-user', query)), page).toBeLessThanOrEqual(PAGE);
    }
  },
);

test('counting a period scans only records of that period', async () => {
  const query = `{ notifications(first: 1, filter: { ${times} }) { totalCount } }`;
  expect((await gateway.as('heavy-user').run(query)).notifications.totalCount).toBe(20);
  expect(await measureCost('notification', read('heavy-user', query))).toBeLessThanOrEqual(20 + PAGE);
});

test("GET /user/notifications with several filters scans no more than the user's records", async () => {
  const search = 'kind=task_failed&kind=task_response_ready&status=active&status=resolved';
  for (const user of ['user-3', 'heavy-user']) {
    const all = await countRange('notifications', user, '');
    for (const page of ['limit=5', 'limit=3&offset=2', '']) {
      const get = () => gateway.as(user).rest.get(`/user/notifications?${search}&${page}`);
      expect(await measureCost('notification', get), `${user} ${page}`).toBeLessThanOrEqual(all);
    }
  }
});

test.each(['notifications?status=active', 'notifications?', 'workspaces?'])(
  'GET /user/%s with a limit and an offset scans only the records up to the end of the page',
  async (search) => {
    for (const user of ['user-3', 'heavy-user']) {
      for (const page of ['limit=5', 'limit=3&offset=2']) {
        const get = () => gateway.as(user).rest.get(`/user/${search}&${page}`);
        const table = search.startsWith('n') ? 'notification' : 'workspace';
        expect(await measureCost(table, get), `${user} ${page}`).toBeLessThanOrEqual(PAGE);
      }
    }
  },
);

test('a page of users by prefix scans only the users of the page', async () => {
  const dashboard = gateway.as(() => signToken({ sub: 'dashboard', scope: 'platform:read' }));
  const after = encodeCursor(['user-55']);
  for (const args of ['', 'prefix: "user-5"', `prefix: "user-5", after: "${after}"`, 'prefix: "x"']) {
    const query = `{ platform { users(first: 5, ${args}) { nodes { id } } } }`;
    const cost = await measureCost('user_revision', () => dashboard.graphql(query));
    expect(cost, args).toBeLessThanOrEqual(PAGE);
  }
});

describe('of a notification whose task had many others', () => {
  const user = 'heavy-user';
  const { as } = gateway;
  const task = { id: 'task', projectId: 'p' };
  let [open, dismissed, answered]: string[] = [];
  let undoToken: unknown;
  let undo: () => Promise<void>;
  beforeAll(async () => {
    ({ id: answered } = await publish(gateway, user, 'question_requested', { task }));
    await answer(gateway, user, { id: answered, ...answers.first });
    ({ id: dismissed } = await publish(gateway, user, 'task_failed', { task }));
    ({ undoToken } = await as(user).dismissAll({ ids: [dismissed] }));
    ({ id: open } = await publish(gateway, user, 'plan_requested', { task }));
    undo = await saveNotifications(user);
  });

  const resolve = (given: object) =>
    as(platform).resolve({ userId: user, reason: 'ANSWERED_ELSEWHERE', ...given });
  const supersede = async (by: Who, id: string) =>
    expect(await as(by).publish(notification(user, 'plan_requested', { id, task }))).toMatchObject({
      created: true,
    });

  test.each<[what: string, work: () => Promise<unknown>]>([
    ['finding', () => read(user, `{ notification(id: "${open}") { __typename } }`)()],
    ['dismissing', () => as(user).dismiss({ id: open })],
    ['dismissing by IDs', () => as(user).dismissAll({ ids: [open] })],
    ['restoring', () => as(user).restore({ id: dismissed })],
    ['restoring IDs', () => as(user).restoreAll({ ids: [dismissed] })],
    ['undoing', () => as(user).restoreAll({ undoToken })],
    ['answering', () => answer(gateway, user, { id: open, ...answers.approve })],
    ['awaiting', () => awaitRequest(gateway, user, String(open), 0)],
    ['acknowledging', () => acknowledge(gateway, user, String(answered))],
    ['resolving a task', () => resolve({ taskId: 'task' })],
    ['resolving a tool', () => resolve({ taskId: 'task', toolId: 'tool-1' })],
    ['resolving IDs', () => resolve({ ids: [open] })],
    ['superseding', () => supersede(platform, 'next')],
    ['superseding as a task', () => supersede(() => signTaskToken(user, 'task'), 'task:next')],
  ])('%s scans a limited number of records', async (_what, work) => {
    expect(await measureCost('notification', work, undo)).toBeLessThanOrEqual(2 * PAGE);
  });
});

test('dismissing the seen notifications of a project scans only active ones', async () => {
  const query = '{ notificationCounts { total cursor } }';
  const { total, cursor } = (await gateway.as('user-3').run(query)).notificationCounts;
  const input = `{ filter: { projectIds: "p-1", upTo: "${cursor}" } }`;
  const mutation = `mutation { dismissNotifications(input: ${input}) { notifications { __typename } } }`;
  const undo = await saveNotifications('user-3');
  const cost = await measureCost('notification', read('user-3', mutation), undo);
  expect(cost).toBeLessThanOrEqual(3 * total);
  expect(cost).toBeGreaterThan(total);
});

describe('a page', () => {
  let opened: Database;
  beforeAll(async () => {
    opened = await openDatabase({ url: gateway.database.url, poolSize: 2, timeoutMs: 30_000 });
  });
  afterAll(() => opened.close());

  const page = { limit: 2 };
  const notifications = (isPart: boolean) =>
    notificationList.read(opened, 'heavy-user', { filter: {}, page: { ...page, isPart } });

  // PostgreSQL plans a statement for its values five times before it decides.
  test.each([
    ['notifications', 'short', () => notifications(false)],
    ['workspaces', 'short', () => workspaceList.read(opened, 'heavy-user', { filter: {}, page })],
    ['a part of a long list', 'long', () => notifications(true)],
  ] as const)('of %s is planned once per connection', async (_list, connection, list) => {
    for (let count = 0; count < 10; count += 1) expect(await list()).toHaveLength(2);

    const [plans] = await opened[connection].query({
      text: `select sum(custom_plans)::int as custom, sum(generic_plans)::int as generic from pg_prepared_statements`,
    });
    expect(plans).toEqual({ custom: 0, generic: expect.any(Number) });
    expect(plans?.generic).toBeGreaterThanOrEqual(10);
  });
});
