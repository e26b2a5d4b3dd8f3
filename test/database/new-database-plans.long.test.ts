import pg from 'pg';
import { expect, test } from 'vitest';
import { openPipelinedPool, preparedPoolOptions } from '../../src/database/pool.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss, subscribeToNotifications } from '../support/inbox.ts';
import { countPages, explainAfter, explainAll, listIndexes } from '../support/plans.ts';
import { publish, resolve } from '../support/records.ts';
import { acknowledge, answer, answers } from '../support/requests.ts';
import { recordStatements } from '../support/statements.ts';
import { platform } from '../support/tokens.ts';

/*
 * PostgreSQL analyzes the tables of a new database after a minute. Until then, it plans by guesses. For one user, no
 * plan may read the records of all users. Autovacuum is off in tests.
 */

/** The number of active notifications, and of workspaces. An index of the former has more than 200 pages. */
const MANY = 20_000;

/** The maximum number of pages that a statement of one user reads. */
const MAX_PAGES = 150;

const user = 'user-3';

const gateway = useGateway();

async function fill(): Promise<void> {
  // Otherwise the statement that publishes would find its notification stored, and do nothing.
  await gateway.database.sql('delete from notification');
  const user_id = "'user-' || n % 2000";
  const created_at = "now() - n * interval '1 s'";
  await insertRecords(gateway.database, 'notification', MANY, {
    user_id,
    created_at,
    revision: '10 + n',
    kind: "'task_failed'",
    status: "'active'",
    task_id: "'task-' || n",
    request_state: "case n % 3 when 0 then 'open' else 'none' end",
  });
  await insertRecords(gateway.database, 'workspace', MANY, { user_id, created_at, status: "'running'" });
}

async function publishAndReceive(): Promise<void> {
  const stream = await subscribeToNotifications(gateway, user);
  await publish(gateway, user);
  await stream.take();
  stream.close();
}

async function settle(): Promise<void> {
  const { id } = await publish(gateway, user);
  await dismiss(gateway, user, [id]);
  await gateway.as(user).restore({ id });
  await gateway.as(user).dismiss({ id });
  await answer(gateway, user, { id, ...answers.approve });
  await acknowledge(gateway, user, id);
  await resolve(gateway, user, 'task-3');
}

/** Reads pages of lists by each filter. */
async function list(): Promise<void> {
  const filters = {
    notifications: [
      '',
      'statuses: ACTIVE',
      'statuses: [ACTIVE, DISMISSED]',
      'kinds: TASK_FAILED',
      'projectIds: "p"',
      'taskIds: "task-3"',
      'requestStates: OPEN',
      'createdFrom: "2026-01-01T00:00:00Z", createdBefore: "2100-01-01T00:00:00Z"',
    ],
    workspaces: ['', 'statuses: RUNNING', 'projectIds: "p"'],
  };
  for (const [field, each] of Object.entries(filters)) {
    for (const filter of each) {
      for (const page of ['first: 5', 'last: 5']) {
        const list = `${field}(${page}, filter: { ${filter} }) { totalCount edges { cursor } }`;
        await gateway.as(user).run(`{ ${list} }`);
      }
    }
  }
  const users = `{ platform { users(first: 5) { nodes {
    notifications(first: 5, filter: { kinds: TASK_FAILED }) { totalCount nodes { __typename } }
    workspaces(first: 5, filter: { statuses: RUNNING }) { totalCount nodes { id } }
  } } } }`;
  await gateway.as(platform).run(users);
  for (const search of ['notifications', 'notifications?limit=5&offset=5&status=active', 'workspaces'])
    await gateway.as(user).rest.get(`/user/${search}`);
}

test('publishing, settling, events, lists and counts read few pages of tables that were not analyzed', async () => {
  const sent = await recordStatements(async () => {
    await publishAndReceive();
    await settle();
    await list();
  });
  const statements = sent.filter(
    ({ text, values }) =>
      /"(notification|workspace)"/.test(text) && JSON.stringify(values ?? []).includes(user),
  );
  expect(statements.length).toBeGreaterThan(50);
  const options = { url: gateway.database.url, poolSize: 1, timeoutMs: 30_000 };
  const pool = openPipelinedPool(options);
  const connection = await pool.connect();
  const planned = await explainAfter(connection, statements, fill);
  connection.release();
  await pool.end();
  const client = new pg.Client(preparedPoolOptions(options));
  await client.connect();
  const replanned = await explainAll(client, statements);
  // PostgreSQL then knows that the table is empty, and any index seems as good.
  await gateway.database.sql('truncate notification');
  await gateway.database.sql('vacuum notification');
  const indexes = (await explainAll(client, statements)).flatMap((plan) => listIndexes(plan, 'notification'));
  await client.end();
  expect(indexes).toContain('notification_newest');
  expect(indexes).not.toContain('notification_of_all');
  expect(indexes).not.toContain('notification_open');
  const costly = [...statements, ...statements.flatMap((one) => (one.name === undefined ? one : [one, one]))]
    .map(({ text }, index) => ({
      text,
      pages: countPages([...planned, ...replanned][index] ?? expect.unreachable()),
    }))
    .filter(({ pages }) => pages > MAX_PAGES);
  expect(costly).toEqual([]);
});
