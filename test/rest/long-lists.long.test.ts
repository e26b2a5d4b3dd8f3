import fc from 'fast-check';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { parsePosition } from '../../src/values/cursor.ts';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { member, signToken } from '../support/tokens.ts';

/* Lists and pages whose records are too large to be read at once. */

const gateway = useGateway({ DATABASE_TIMEOUT_MS: '1000', RATE_LIMIT_READS_PER_MINUTE: '1000000' });
beforeAll(async () => {
  await insertNotifications('alice', sizes);
  await insertNotifications('bob', Array(80).fill(256 * 1024));
  await insertNotifications('carol', Array(2200).fill(10));
});

/** Sizes of texts, in the order of the list: small ones, some large ones, and some larger than a part of a list. */
const sizes = Array.from({ length: 700 }, (_, index) =>
  index % 97 === 3 ? 900_000 : index % 13 === 0 ? 60_000 : index,
);

async function insertNotifications(user: string, sizes: readonly number[]): Promise<void> {
  await gateway.database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               payload_size, request_state, occurred_at, created_at, updated_at)
     select $1, 'n-' || n, n, 'plan_requested', 'active', 'task-' || n, 'p', 'A title',
            json_build_object('toolId', 't', 'input', json_build_object('summary', n::text, 'plan', repeat('x', size))),
            size + 100, 'open', now(), now() - n * interval '1 min', now()
       from unnest($2::int[]) with ordinality as given (size, n)`,
    [user, sizes],
  );
  await gateway.database.sql(`insert into user_revision (user_id, notifications) values ($1, $2)`, [
    user,
    sizes.length,
  ]);
}

type Listed = { id: string; payload: { plan: string; input: { plan: string } } };

const summarize = (notifications: readonly Listed[]) =>
  notifications.map(({ id, payload }) => [id, payload.plan.length, payload.input.plan.length]);

const expected = sizes.map((size, index) => [`n-${index + 1}`, size, size]);

test('a REST list contains every record once, in order, whatever their sizes', async () => {
  const { status, headers, body } = await rest(gateway, 'GET', '/user/notifications', {
    token: await member('alice'),
  });
  expect(status).toBe(200);
  expect(headers.get('etag')).toBe(`"${await readTag('alice')}"`);
  expect(summarize(body.notifications)).toEqual(expected);
});

async function readTag(user: string): Promise<string> {
  const [row] = await gateway.database.sql(
    `select (select epoch from database_epoch) || '.' || epoch || '-' || notifications as tag from user_revision where user_id = $1`,
    [user],
  );
  return String(row?.tag);
}

test('limit and offset select exactly the same records as of the whole list', async () => {
  const token = await member('alice');
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 800 }),
      fc.integer({ min: 0, max: 720 }),
      async (limit, offset) => {
        const { body, headers } = await rest(
          gateway,
          'GET',
          `/user/notifications?limit=${limit}&offset=${offset}`,
          { token },
        );
        const end = offset + limit;
        expect(summarize(body.notifications)).toEqual(expected.slice(offset, end));
        const [, after = ''] = /after=([\w-]+)/.exec(headers.get('link') ?? '') ?? [];
        expect(parsePosition(after)?.id).toBe(end < expected.length ? `n-${end}` : undefined);
      },
    ),
    {
      numRuns: 15,
      examples: [
        [250, 0],
        [251, 0],
        [500, 200],
        [700, 0],
        [1, 719],
      ],
    },
  );
});

test('a filtered REST list is complete', async () => {
  const { body } = await rest(gateway, 'GET', '/user/notifications?kind=plan_requested&status=active', {
    token: await member('alice'),
  });
  expect(summarize(body.notifications)).toEqual(expected);
});

test('a whole list whose filter matches few records is complete, and no statement reads the whole list', async () => {
  await insertNotifications('dave', Array(25_000).fill(10));
  await gateway.database.sql(
    `update notification set status = 'dismissed' where user_id = 'dave' and id in ('n-9', 'n-10000', 'n-10001', 'n-24999')`,
  );
  const token = await member('dave');
  const read = (query: string) => rest(gateway, 'GET', `/user/notifications?${query}`, { token });

  const few = await read('status=dismissed&kind=plan_requested');
  expect(few.body.notifications.map(({ id }: Listed) => id)).toEqual([
    'n-9',
    'n-10000',
    'n-10001',
    'n-24999',
  ]);
  const none = await read('kind=task_failed');
  expect(none.body).toEqual({ notifications: [] });
  // Lists that one statement reads are sent at once.
  for (const { headers } of [few, none]) expect(headers.get('transfer-encoding')).toBe('chunked');
  expect((await read('kind=task_failed&limit=5')).body).toEqual({ notifications: [] });
});

test('a list costs one point per 1,000 records, however many parts it is read in', async () => {
  const token = await signToken({ sub: 'carol' });
  const remaining = async () => {
    const { headers } = await rest(gateway, 'GET', '/user/notifications?limit=1', { token });
    return Number(headers.get('ratelimit-remaining'));
  };
  const before = await remaining();
  const { body } = await rest(gateway, 'GET', '/user/notifications', { token });
  expect(body.notifications).toHaveLength(2200);
  expect(before - (await remaining())).toBe(3 + 1);
});

test('a list whose reading fails is cut off', async () => {
  const locker = new pg.Client({ connectionString: gateway.database.url });
  await locker.connect();
  try {
    const response = await fetch(`${gateway.address}/user/notifications`, {
      headers: { Authorization: `Bearer ${await member('alice')}` },
    });
    expect(response.status).toBe(200);
    await locker.query('begin; lock table notification in access exclusive mode');
    await expect(response.text()).rejects.toThrow();
  } finally {
    await locker.end();
  }
});

test.each([
  ['forwards', 'first', 'after', 'hasNextPage', 'endCursor'],
  ['backwards', 'last', 'before', 'hasPreviousPage', 'startCursor'],
])('pages end before 16 MiB and continue %s without gaps', async (_way, size, position, hasMore, cursor) => {
  const token = await member('bob');
  const query = `query ($cursor: String) { notifications(${size}: 100, ${position}: $cursor) {
    nodes { ... on PlanRequestedNotification { id payload { plan } } } pageInfo { ${hasMore} ${cursor} } } }`;
  const pages: string[][] = [];
  let at: string | null = null;
  for (let more = true; more; ) {
    const { data } = await graphql(gateway, query, { cursor: at }, { token });
    const { nodes, pageInfo } = data.notifications;
    pages.push(nodes.map(({ id }: Listed) => id));
    more = pageInfo[hasMore];
    at = pageInfo[cursor];
  }
  expect(pages.map(({ length }) => length)).toEqual([63, 17]);
  const all = (size === 'first' ? pages : pages.toReversed()).flat();
  expect(all).toEqual(Array.from({ length: 80 }, (_, index) => `n-${index + 1}`));
});

test.each([
  [
    '20 lists share 16 MiB',
    Array.from({ length: 20 }, (_, index) => `a${index}: notifications(first: 20) { ...page }`).join(' '),
    'payload { plan }',
    3,
  ],
  [
    'copies of a field divide the share',
    'a0: notifications(first: 100) { ...page }',
    'payload { a: plan b: plan c: plan d: plan }',
    15,
  ],
  [
    'a page has at least one record',
    Array.from({ length: 12 }, (_, index) => `a${index}: notifications(first: 20) { ...page }`).join(' '),
    'payload { plan b: plan c: plan }',
    1,
  ],
])('%s', async (_what, lists, fields, length) => {
  const query = `{ ${lists} } fragment page on NotificationConnection {
    nodes { ... on PlanRequestedNotification { ${fields} } } pageInfo { hasNextPage } }`;
  const { data, errors } = await graphql(gateway, query, {}, { token: await member('bob') });
  expect(errors).toEqual([]);
  for (const { nodes, pageInfo } of Object.values<{ nodes: unknown[]; pageInfo: unknown }>(data)) {
    expect(nodes).toHaveLength(length);
    expect(pageInfo).toEqual({ hasNextPage: true });
  }
});

test('a page without long texts is full', async () => {
  const query =
    '{ notifications(first: 100) { nodes { ... on UserNotification { id } } pageInfo { hasNextPage } } }';
  const { data, errors } = await graphql(gateway, query, {}, { token: await member('bob') });
  expect(errors).toEqual([]);
  expect(data.notifications.nodes).toHaveLength(80);
});

test.each([
  { fields: 'dismissNotification(input: { id: $id }) { notification { ...fields } }', type: 'mutation' },
  { fields: 'notification(id: $id) { ...fields }', type: 'query' },
])('only a large notification of an earlier version is sent in parts: $fields', async ({ fields, type }) => {
  const [token] = await Promise.all([member('alice'), forgetSizes('alice', ['n-2', 'n-4'])]);
  const document = `${type} ($id: ID!) { ${fields} }
    fragment fields on PlanRequestedNotification { payload { plan } }`;
  const [small, large] = await Promise.all(
    ['n-2', 'n-4'].map((id) => graphql(gateway, document, { id }, { token })),
  );
  expect(small?.headers.get('Content-Length')).toBe(String(small?.text.length));
  expect(large?.headers.get('Transfer-Encoding')).toBe('chunked');
  expect(large?.text.length).toBeGreaterThan(900_000);
});

/** Removes the sizes that earlier versions did not store. */
async function forgetSizes(user: string, ids: readonly string[]): Promise<void> {
  await gateway.database.sql(
    'update notification set payload_size = null where user_id = $1 and id = any($2)',
    [user, ids],
  );
}
