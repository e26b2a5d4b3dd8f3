import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asMember, asPlatform, payloads } from './support/records.ts';
import { type Statement, statementsOf } from './support/statements.ts';
import { member } from './support/tokens.ts';

/*
 * Every list reads an index in its order: what it reads grows with the page, not with the table. The statements
 * are those that the gateway sends; PostgreSQL plans them on analysed tables.
 */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  const { sql } = gateway.database;
  await sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               occurred_at, created_at, updated_at)
     select 'user-' || n % 4, 'n-' || n, n,
            (array['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'])[n / 4 % 4 + 1],
            (array['active', 'resolved', 'dismissed'])[n / 4 % 3 + 1],
            'task-' || n, 'p', 'A title', '{"taskStatus":"errored"}', now(), now() - n * interval '1 min', now()
       from generate_series(1, 20000) n`,
  );
  await sql(
    `insert into workspace (user_id, id, revision, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb,
                            keep_active, created_at, updated_at)
     select 'user-' || n % 4, gen_random_uuid(), n, 'p-' || n / 4 % 5,
            (array['creating', 'starting', 'running', 'stopping', 'stopped', 'error'])[n / 4 % 6 + 1],
            'shared', 1, 1, 1, false, now() - n * interval '1 min', now()
       from generate_series(1, 20000) n`,
  );
  await sql(`insert into user_revision (user_id) select 'user-' || n from generate_series(0, 7999) n`);
  await sql('analyze');
});
afterAll(() => gateway.close());

type Plan = { 'Node Type': string; 'Relation Name'?: string; Plans?: Plan[] };

/** Without the scan of the epoch, which is a table of one row. */
function nodesOf(plan: Plan): Plan[] {
  if (plan['Relation Name'] === 'database_epoch') return [];
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/**
 * How PostgreSQL runs a statement that reads or changes records: `Index Scan notification`. Both for these values
 * and for whatever values, the plan that a prepared statement may come to.
 */
async function plansFor({ text, values }: Statement): Promise<string[][]> {
  const client = new pg.Client({ connectionString: gateway.database.url });
  await client.connect();
  try {
    const own = await client.query(`explain (format json) ${text}`, [...values]);
    const generic = await client.query(`explain (format json, generic_plan) ${text}`);
    return [own, generic].map(({ rows }) =>
      nodesOf(rows[0]['QUERY PLAN'][0].Plan).map((node) =>
        `${node['Node Type']} ${node['Relation Name'] ?? ''}`.trim(),
      ),
    );
  } finally {
    await client.end();
  }
}

async function plansOf(work: () => Promise<unknown>): Promise<string[][]> {
  const statements = (await statementsOf(work)).filter(({ text }) =>
    /^(select|with|update|delete)/i.test(text),
  );
  expect(statements.length).toBeGreaterThan(0);
  return (await Promise.all(statements.map(plansFor))).flat();
}

const read = (query: string) => () => asMember(gateway, 'user-3', query);

const filters: [list: string, args: string][] = [
  ['notifications', ''],
  ['notifications', 'status: ACTIVE'],
  ['notifications', 'status: [ACTIVE, RESOLVED]'],
  ['notifications', 'kind: TASK_FAILED'],
  ['notifications', 'kind: [TASK_FAILED, PLAN_REQUESTED], status: [DISMISSED]'],
  ['workspaces', ''],
  ['workspaces', 'status: RUNNING'],
  ['workspaces', 'status: [RUNNING, ERROR]'],
  ['workspaces', 'projectId: "p-1"'],
  ['workspaces', 'projectId: "p-1", status: [RUNNING]'],
];

test.each(filters)(
  'a page of %s(%s) reads an index in its order, first, next and last',
  async (list, args) => {
    const { [list]: found } = await asMember(
      gateway,
      'user-3',
      `{ ${list}(first: 100 ${args}) { edges { cursor } } }`,
    );
    const { cursor } = found.edges[Math.floor(found.edges.length / 2)];
    for (const page of [
      'first: 5',
      `first: 5, after: "${cursor}"`,
      'last: 5',
      `last: 5, before: "${cursor}"`,
    ]) {
      const plans = await plansOf(read(`{ ${list}(${page} ${args}) { nodes { __typename } } }`));
      for (const plan of plans) {
        expect(plan.join(', '), page).toMatch(/Index (Only )?Scan/);
        expect(plan.join(', '), page).not.toMatch(/Seq Scan|Sort|Bitmap/);
      }
    }
  },
);

test.each(filters)('counting %s(%s) reads no whole table', async (list, args) => {
  const plans = await plansOf(read(`{ ${list}${args && `(${args})`} { totalCount } }`));
  for (const plan of plans) expect(plan.join(', ')).not.toMatch(/Seq Scan/);
});

test.each(['/user/notifications', '/user/workspaces'])('GET %s reads no whole table', async (path) => {
  const token = await member('user-3');
  for (const search of ['', '?limit=20&offset=40']) {
    const plans = await plansOf(() => rest(gateway, 'GET', `${path}${search}`, { token }));
    for (const plan of plans) expect(plan.join(', '), search).not.toMatch(/Seq Scan/);
  }
});

test('a page by limit and offset reads an index in its order', async () => {
  const token = await member('user-3');
  for (const search of ['?limit=20', '?limit=20&offset=40', '?limit=20&status=active']) {
    const plans = await plansOf(() => rest(gateway, 'GET', `/user/notifications${search}`, { token }));
    for (const plan of plans) expect(plan.join(', '), search).not.toMatch(/Seq Scan|Sort/);
  }
});

const task = { id: 'task-47', projectId: 'p' };
const changes: [what: string, work: () => Promise<unknown>][] = [
  ['finding', read('{ notification(id: "n-47") { __typename } }')],
  ['dismissing', read('mutation { dismissNotification(input: { id: "n-47" }) { __typename } }')],
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
  for (const plan of await plansOf(work)) expect(plan).not.toContain('Seq Scan notification');
});
