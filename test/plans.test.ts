import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { readPoolOptions } from '../src/database/pool.ts';
import { fillTables, insertNotifications, insertWorkspaces } from './support/bulk-records.ts';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asMember, asPlatform, payloads } from './support/records.ts';
import { recordStatements, type Statement } from './support/statements.ts';
import { member } from './support/tokens.ts';

/*
 * What a read costs grows with the page, not with the table or with what the user has besides. The statements are
 * those that the gateway sends; PostgreSQL runs them on analysed tables, by a plan for the values and by one for any.
 */

/** How many records of either list one user has, all of one kind, status and project. Ten times as many have the same plans. */
const HOARD = 50_000;

let gateway: TestGateway;
let client: pg.Client;
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
              'task-' || n, 'p', 'A title', '{"taskStatus":"errored"}', now(), now() - n * interval '1 min', now()
         from generate_series(1, 20000) n`,
    );
    await database.sql(
      `insert into workspace (user_id, id, revision, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb,
                              keep_active, created_at, updated_at)
       select 'user-' || n % 4, gen_random_uuid(), n, 'p-' || n / 4 % 5,
              (array['creating', 'starting', 'running', 'stopping', 'stopped', 'error'])[n / 4 % 6 + 1],
              'shared', 1, 1, 1, false, now() - n * interval '1 min', now()
         from generate_series(1, 20000) n`,
    );
    await Promise.all([
      insertNotifications(database, 'hoarder', HOARD),
      insertWorkspaces(database, 'hoarder', HOARD),
      database.sql(`insert into user_revision (user_id) select 'user-' || n from generate_series(0, 7999) n`),
    ]);
  });
  client = new pg.Client(readPoolOptions({ url: database.url, poolSize: 1, timeoutMs: 30_000 }));
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await gateway.close();
});

const Plan = z.object({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  'Actual Rows': z.number().default(0),
  'Actual Loops': z.number().default(0),
  'Rows Removed by Filter': z.number().default(0),
  'Rows Removed by Index Recheck': z.number().default(0),
  get Plans() {
    return z.array(Plan).default([]);
  },
});
type Plan = z.output<typeof Plan>;

/** Without the scan of the epoch, which is a table of one row. */
function nodesOf(plan: Plan): Plan[] {
  if (plan['Relation Name'] === 'database_epoch') return [];
  return [plan, ...plan.Plans.flatMap(nodesOf)];
}

/** The plans for these values and for whatever values, which a prepared statement may come to. */
async function plansFor({ text, values }: Statement, explain: string): Promise<Plan[]> {
  const plans: Plan[] = [];
  const inputs = values
    .map((value) => (value === null ? 'null' : client.escapeLiteral(literal(value))))
    .join(', ');
  for (const mode of ['force_custom_plan', 'force_generic_plan']) {
    await client.query(`begin; set local plan_cache_mode = ${mode}`);
    // A prepared statement alone has a generic plan, and `explain` takes no values of its own.
    await client.query(`prepare statement as ${text}`);
    const { rows } = await client.query(
      `explain (format json${explain}) execute statement${inputs && `(${inputs})`}`,
    );
    plans.push(Plan.parse(rows[0]['QUERY PLAN'][0].Plan));
    await client.query('rollback; deallocate statement');
  }
  return plans;
}

/** One after another, for they share a connection. */
async function plansForAll(statements: readonly Statement[], explain: string): Promise<Plan[]> {
  const plans: Plan[] = [];
  for (const statement of statements) plans.push(...(await plansFor(statement, explain)));
  return plans;
}

function literal(value: unknown): string {
  return Array.isArray(value) ? `{${value.join(',')}}` : String(value);
}

/** How many records of a list, or entries of its indexes, were looked at. */
function lookedAt(plan: Plan, table: string): number {
  return nodesOf(plan)
    .filter((node) => node['Relation Name'] === table || node['Node Type'] === 'Bitmap Index Scan')
    .map((node) => {
      const rows =
        node['Actual Rows'] + node['Rows Removed by Filter'] + node['Rows Removed by Index Recheck'];
      return Math.round(rows * node['Actual Loops']);
    })
    .reduce((sum, rows) => sum + rows, 0);
}

/** How many records the statements of some work look at, at most. */
async function costOf(table: string, work: () => Promise<unknown>): Promise<number> {
  const statements = (await recordStatements(work)).filter(({ text }) => text.includes(`"${table}"`));
  expect(statements.length).toBeGreaterThan(0);
  const plans = await plansForAll(statements, ', analyze');
  return Math.max(...plans.map((plan) => lookedAt(plan, table)));
}

const read = (user: string, query: string) => () => asMember(gateway, user, query);

const filters: [list: 'notifications' | 'workspaces', args: string][] = [
  ...['status: ACTIVE', 'status: [ACTIVE, RESOLVED]', ''].flatMap((status) =>
    ['kind: TASK_FAILED', 'kind: [TASK_FAILED, TASK_RESPONSE_READY]', ''].map(
      (kind): ['notifications', string] => ['notifications', `${status} ${kind}`.trim()],
    ),
  ),
  ...['projectId: "p-1"', ''].flatMap((project) =>
    ['status: RUNNING', 'status: [RUNNING, ERROR, STARTING]', ''].map((status): ['workspaces', string] => [
      'workspaces',
      `${project} ${status}`.trim(),
    ]),
  ),
];
const tables = { notifications: 'notification', workspaces: 'workspace' };

/** A page reads one record more than it has; of every combination of kinds and statuses it may read a page. */
const PAGE = 6;
const COMBINATIONS = 12;
const BOUND = PAGE * (COMBINATIONS + 1);

test.each(filters)('a page of %s(%s) looks at a bounded number of records', async (list, args) => {
  for (const user of ['user-3', 'hoarder']) {
    const { [list]: all } = await asMember(gateway, user, `{ ${list}(first: 100) { edges { cursor } } }`);
    const { cursor } = all.edges[50];
    const pages = ['first: 5', `first: 5, after: "${cursor}"`, 'last: 5', `last: 5, before: "${cursor}"`];
    for (const page of [...pages, `first: 5, after: "${cursor}", before: "${all.edges[0].cursor}"`]) {
      const query = `{ ${list}(${page} ${args}) { nodes { __typename } } }`;
      expect(await costOf(tables[list], read(user, query)), `${user} ${page}`).toBeLessThanOrEqual(BOUND);
    }
  }
});

const narrowing = filters.filter(([, args]) => args !== '');

test.each(narrowing)('counting %s(%s) looks at no record that does not match', async (list, args) => {
  const query = `{ ${list}(first: 1 ${args}) { totalCount } }`;
  const { totalCount } = (await asMember(gateway, 'user-3', query))[list];
  expect(totalCount).toBeGreaterThan(0);
  expect(await costOf(tables[list], read('user-3', query))).toBeLessThanOrEqual(totalCount + PAGE);
  expect(await costOf(tables[list], read('hoarder', query))).toBeLessThanOrEqual(PAGE);
});

const searches = [
  'kind=task_failed',
  'kind=task_failed&status=active',
  'kind=task_failed&kind=task_response_ready&status=active&status=resolved',
];

test.each(searches)('GET /user/notifications?%s looks at what it skips and returns', async (search) => {
  for (const user of ['user-3', 'hoarder']) {
    const token = await member(user);
    const get = (page: string) => () =>
      rest(gateway, 'GET', `/user/notifications?${search}&${page}`, { token });
    expect(await costOf('notification', get('limit=5')), user).toBeLessThanOrEqual(BOUND);
    expect(await costOf('notification', get('limit=3&offset=3')), user).toBeLessThanOrEqual(BOUND);
    const { body } = await get('')();
    // Once for its place in the list, once for its content.
    expect(await costOf('notification', get('')), user).toBeLessThanOrEqual(2 * body.notifications.length);
  }
});

test.each(['notification', 'workspace'])(
  '%ss by limit and offset are read in the order of an index',
  async (table) => {
    const token = await member('hoarder');
    for (const page of ['limit=5', 'limit=3&offset=3']) {
      const get = () => rest(gateway, 'GET', `/user/${table}s?${page}`, { token });
      expect(await costOf(table, get), page).toBeLessThanOrEqual(PAGE);
    }
  },
);

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

test.each(changes)('%s a notification reads no whole table of notifications', async (_what, work) => {
  const statements = (await recordStatements(work)).filter(({ text }) =>
    /^(select|with|update|delete)/i.test(text),
  );
  expect(statements.length).toBeGreaterThan(0);
  for (const plan of await plansForAll(statements, '')) {
    const nodes = nodesOf(plan).map((node) => `${node['Node Type']} ${node['Relation Name']}`);
    expect(nodes).not.toContain('Seq Scan notification');
  }
});
