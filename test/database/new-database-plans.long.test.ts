import pg from 'pg';
import { expect, test } from 'vitest';
import { openPipelinedPool, preparedPoolOptions } from '../../src/database/pool.ts';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { countPages, explainAfter, explainAll, listIndexes } from '../support/plans.ts';
import { asMember, publish, resolve } from '../support/records.ts';
import { acknowledge, answer, answers } from '../support/requests.ts';
import { openStream } from '../support/sse.ts';
import { recordStatements } from '../support/statements.ts';
import { member, platform } from '../support/tokens.ts';

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
  await gateway.database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload, request_state,
                               occurred_at, created_at, updated_at)
     select 'user-' || n % 2000, 'n-' || n, 10 + n, 'task_failed', 'active', 'task-' || n, 'p', 'A title',
            '{"taskStatus":"errored"}', case n % 3 when 0 then 'open' else 'none' end, now(),
            now() - n * interval '1 s', now()
       from generate_series(1, $1::int) n`,
    [MANY],
  );
  await gateway.database.sql(
    `insert into workspace (user_id, id, revision, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb,
                            keep_active, created_at, updated_at)
     select 'user-' || n % 2000, gen_random_uuid(), n, 'p', 'running', 'shared', 1, 1, 1, false,
            now() - n * interval '1 s', now()
       from generate_series(1, $1::int) n`,
    [MANY],
  );
}

async function publishAndReceive(): Promise<void> {
  const query =
    'subscription { notificationEvents { counts { total } notification { ... on UserNotification { title } } } }';
  const stream = await openStream(gateway, query, {}, { token: await member(user) });
  await publish(gateway, user);
  await stream.take();
  stream.close();
}

async function settle(): Promise<void> {
  const { id } = await publish(gateway, user);
  await dismiss(gateway, user, [id]);
  await gateway.as(user).restore({ id });
  await asMember(gateway, user, `mutation { dismissNotification(input: { id: "${id}" }) { __typename } }`);
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
      for (const page of ['first: 5', 'last: 5'])
        await asMember(
          gateway,
          user,
          `{ ${field}(${page}, filter: { ${filter} }) { totalCount edges { cursor } } }`,
        );
    }
  }
  const lists =
    'notifications(first: 5, filter: { kinds: TASK_FAILED }) { totalCount nodes { __typename } } workspaces(first: 5, filter: { statuses: RUNNING }) { totalCount nodes { id } }';
  const users = `{ platform { users(first: 5) { nodes { ${lists} } } } }`;
  expect((await graphql(gateway, users, {}, { token: await platform() })).errors).toEqual([]);
  for (const path of [
    '/user/notifications',
    '/user/notifications?limit=5&offset=5&status=active',
    '/user/workspaces',
  ])
    await rest(gateway, 'GET', path, { token: await member(user) });
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
