import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_COUNT } from '../../src/database/page.ts';
import { preparedPoolOptions } from '../../src/database/pool.ts';
import { MAX_CHECKED as MAX_CHECKED_FOR_DELIVERIES } from '../../src/delivery/all-deliveries.ts';
import { MAX_CHECKED as MAX_CHECKED_CREDENTIALS } from '../../src/editor-auth/all-credentials.ts';
import { SCAN_LIMIT } from '../../src/graphql/page-arguments.ts';
import { MAX_CHECKED } from '../../src/notifications/all-notifications.ts';
import { MAX_COUNTED } from '../../src/notifications/answers/count-open-requests.ts';
import { fillTables, insertRecords } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { countScanned, explainAll, listIndexes } from '../support/plans.ts';
import { recordStatements } from '../support/statements.ts';
import { signToken } from '../support/tokens.ts';

/* The cost of a list of all users has a limit, which does not depend on the number of records. */

/** The number of records in each table. All notifications are younger than a day. */
const MANY = 120_000;
const PAGE = 6;

const gateway = useGateway();
const dashboard = () => signToken({ sub: 'dashboard', scope: 'platform:read' });
let client: pg.Client;
beforeAll(async () => {
  const { database } = gateway;
  const { sql } = database;
  await fillTables(database, ['notification', 'workspace', 'editor_credential'], async () => {
    await insertRecords(database, 'notification', MANY, {
      user_id: "'user-' || n % 1000",
      kind: `case n % 20000 when 0 then 'task_failed'
        else (array['plan_requested', 'question_requested', 'task_response_ready'])[n % 3 + 1] end`,
      status: "(array['active', 'dismissed'])[n % 2 + 1]",
      task_id: "'task-' || n",
      project_id: "case n % 20000 when 0 then 'p-rare' else 'p-' || n % 7 end",
      skipped_channels: 'case when n % 5 = 0 then 21 else 0 end',
      request_state: "case n % 40 when 0 then 'open' else 'none' end",
      created_at: "now() - n * interval '500 ms'",
    });
    await insertRecords(database, 'workspace', MANY, {
      user_id: "'user-' || n % 1000",
      status: "case n % 20000 when 0 then 'error' else 'running' end",
    });
    await sql(
      `insert into editor_credential (user_id, version, ciphertext, key_id, reauth_reason, created_at, updated_at)
       select 'user-' || n, 'v', 'c', case n % 20000 when 1 then 'lost' else 'first' end,
              case n % 20000 when 0 then 'token_expired' end, now() - n * interval '1 min', now()
         from generate_series(1, $1::int) n`,
      [MANY],
    );
  });
  await sql(
    `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at,
                           updated_at)
     select user_id, id, 'email', '', 'email', 'delivered', now(), now(), created_at, now()
       from notification where substr(id, 3)::int % 4 = 0`,
  );
  await sql('vacuum analyze delivery');
  const options = { url: database.url, poolSize: 1, timeoutMs: 30_000 };
  client = new pg.Client(preparedPoolOptions(options));
  await client.connect();
}, 120_000);
afterAll(() => client.end());

const tables = ['notification', 'delivery', 'workspace', 'editor_credential', 'user_revision'];

const send = (field: string) => gateway.as(dashboard).graphql(`{ platform { ${field} } }`);

/** Returns the statements of a field. */
async function recordList(field: string) {
  const sent = await recordStatements(async () => expect((await send(field)).errors).toEqual([]));
  const statements = sent.filter(({ text }) => tables.some((table) => text.includes(`"${table}"`)));
  expect(statements.length).toBeGreaterThan(0);
  return statements;
}

/** Returns the maximum number of records that a plan of a field's statements scans, in all tables together. */
async function measure(field: string) {
  const plans = await explainAll(client, await recordList(field));
  return Math.max(
    ...plans.map((plan) => tables.map((table) => countScanned(plan, table)).reduce((a, b) => a + b)),
  );
}

/** Returns the arguments of the first page of a list, and of one after a hundred, if there are more. */
async function listPages(field: string, filter: string): Promise<string[]> {
  const { data } = await send(`${field}(first: 100 filter: { ${filter} }) { pageInfo { endCursor } }`);
  const { endCursor } = data.platform[field].pageInfo;
  return ['first: 5', ...(endCursor === null ? [] : [`first: 5, after: "${endCursor}"`])];
}

/** Each record of a page is found by an index once to sort it, and once to read it. */
const exact = 2 * PAGE;

const since = `since: "${new Date(Date.now() - 29 * 86_400_000).toISOString()}"`;
const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
const users = `userIds: [${Array.from({ length: 100 }, (_none, index) => `"user-${index}"`).join(' ')}]`;

const checked = SCAN_LIMIT + PAGE;

const lists: [field: string, filter: string, page: number, count: number][] = [
  ['notifications', since, exact, MAX_COUNT],
  ['notifications', 'requestStates: [OPEN]', exact, MAX_COUNT],
  ['notifications', `requestStates: [OPEN], createdBefore: "${hourAgo}"`, exact, MAX_COUNT],
  ['notifications', 'requestStates: [OPEN], projectIds: ["p-rare"]', checked, MAX_CHECKED],
  ['notifications', 'requestStates: [ANSWERED]', checked, MAX_CHECKED],
  ['notifications', 'projectIds: ["p-rare"], statuses: [ACTIVE]', checked, MAX_CHECKED],
  ['notifications', 'userIds: ["user-3"], statuses: [ACTIVE]', exact, MAX_COUNT],
  ['notifications', users, 101 * PAGE, MAX_COUNT],
  ['notifications', 'kinds: [PLAN_REQUESTED], statuses: [RESOLVED]', checked, MAX_CHECKED],
  ['notifications', `${users}, requestStates: [OPEN]`, checked, MAX_CHECKED],
  ['workspaces', '', 6 * PAGE + PAGE, MAX_COUNT],
  ['workspaces', 'statuses: [ERROR]', exact, MAX_COUNT],
  ['editorCredentials', '', exact, MAX_COUNT],
  ['editorCredentials', 'states: [NEEDS_REAUTH]', exact, MAX_CHECKED_CREDENTIALS],
  ['editorCredentials', 'expiresBefore: "2026-05-05T10:00:00Z"', checked, MAX_CHECKED_CREDENTIALS],
  ['editorCredentials', 'states: [UNREADABLE]', checked, MAX_CHECKED_CREDENTIALS],
];

test.each(lists)('%s(%s) scans at most %i records for a page', async (field, filter, maximum) => {
  for (const page of await listPages(field, filter)) {
    const cost = await measure(`${field}(${page} filter: { ${filter} }) { nodes { __typename } }`);
    expect(cost, page).toBeLessThanOrEqual(maximum);
  }
});

test.each(lists)('counting %s(%s) is limited', async (field, filter, _page, maximum) => {
  const cost = await measure(`${field}(first: 1 filter: { ${filter} }) { totalCount }`);
  // The page of one record is read too.
  expect(cost).toBeLessThanOrEqual(Math.max(maximum, SCAN_LIMIT + 2));
});

test.each([
  ['', 'notification_of_all'],
  ['projectIds: ["p-rare"], statuses: [ACTIVE]', 'notification_of_all'],
  ['requestStates: [OPEN]', 'notification_open'],
  ['requestStates: [OPEN], kinds: [PLAN_REQUESTED]', 'notification_open'],
  ['userIds: ["user-3"], statuses: [ACTIVE]', 'notification_active'],
])('notifications(%s) are found by the index %s', async (filter, index) => {
  const list = `notifications(first: 5 filter: { ${filter} }) { totalCount nodes { __typename } }`;
  for (const plan of await explainAll(client, await recordList(list))) {
    expect(listIndexes(plan, 'notification').filter((name) => name !== 'notification_pkey')).toEqual([index]);
  }
});

/** Each notification, itself and its deliveries, is looked up for each row that is shown of it. */
const PER_NOTIFICATION = 6;

test.each(['', 'states: [FAILED]', 'userIds: ["user-3"]', `${users}, channels: [PUSH]`])(
  'a page of deliveries(%s) scans a limited number of notifications and deliveries',
  async (filter) => {
    for (const page of await listPages('deliveries', filter)) {
      const cost = await measure(`deliveries(${page} filter: { ${filter} }) { nodes { state } }`);
      expect(cost, page).toBeLessThanOrEqual(PER_NOTIFICATION * SCAN_LIMIT);
    }
    const count = await measure(`deliveries(first: 1 filter: { ${filter} }) { totalCount }`);
    expect(count).toBeLessThanOrEqual(PER_NOTIFICATION * MAX_CHECKED_FOR_DELIVERIES);
  },
);

test('counting users scans at most as many as it counts', async () => {
  await gateway.database.sql(
    `insert into user_revision (user_id) select 'user-' || n from generate_series(1, 20000) n`,
  );
  await gateway.database.sql('vacuum analyze user_revision');
  expect(await measure('users(first: 1) { totalCount }')).toBeLessThanOrEqual(MAX_COUNT + 2);
});

test('the metrics of open requests scan at most as many as they count', async () => {
  const { sql } = gateway.database;
  await sql(`update notification set request_state = 'open',
               expires_at = case when substr(id, 3)::int % 5 = 0 then now() + interval '1 hour' end
             where substr(id, 3)::int % 4 = 0`);
  const statements = (await recordStatements(() => scrape(gateway))).filter(({ text }) =>
    text.includes('"request_state" = '),
  );
  expect(statements.length).toBeGreaterThan(0);
  for (const plan of await explainAll(client, statements)) {
    const scanned = countScanned(plan, 'notification');
    expect([scanned, scanned + 1]).toContain(MAX_COUNTED);
  }
});
