import fc from 'fast-check';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { parsePosition } from '../../src/values/cursor.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { member } from '../support/tokens.ts';

/* Lists and pages whose records are too large to be read at once. */

const gateway = useGateway({ DATABASE_TIMEOUT_MS: '1000', RATE_LIMIT_READS_PER_MINUTE: '1000000' });
const limited = useGateway({ RATE_LIMIT_READS_PER_MINUTE: '1' }, gateway);
const alice = gateway.as('alice');
beforeAll(async () => {
  await insert('alice', sizes);
  await insert('carol', Array(2200).fill(10));
});

/** Sizes of texts, in the order of the list: small ones, some of the largest, and some of earlier versions. */
const sizes = Array.from({ length: 700 }, (_, index) =>
  index % 97 === 3 ? 250_000 : index % 13 === 0 ? 65_000 : index,
);

/** Inserts notifications whose texts have these sizes. */
async function insert(user: string, sizes: readonly number[]): Promise<void> {
  const input = `json_build_object('summary', n::text, 'plan', repeat('x', ('{${sizes}}'::int[])[n]))`;
  await insertNotifications(gateway.database, user, sizes.length, {
    status: `'active'`,
    task_id: `'task-' || n`,
    payload: `json_build_object('toolId', 't', 'input', ${input})`,
    request_state: `'open'`,
  });
  const revision = 'insert into user_revision (user_id, notifications) values ($1, $2)';
  await gateway.database.sql(revision, [user, sizes.length]);
}

type Listed = { id: string; payload: { plan: string; input: { plan: string } } };

const summarize = (notifications: readonly Listed[]) =>
  notifications.map(({ id, payload }) => [id, payload.plan.length, payload.input.plan.length]);

const expected = sizes.map((size, index) => [`n-${index + 1}`, size, size]);

test('a REST list contains every record once, in order, whatever their sizes', async () => {
  for (const query of ['', '?kind=plan_requested&status=active']) {
    const { status, headers, body } = await alice.rest.get(`/user/notifications${query}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(summarize(body.notifications)).toEqual(expected);
  }
});

test('limit and offset select exactly the same records as of the whole list', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 800 }),
      fc.integer({ min: 0, max: 720 }),
      async (limit, offset) => {
        const path = `/user/notifications?limit=${limit}&offset=${offset}`;
        const { body, headers } = await alice.rest.get(path);
        const end = offset + limit;
        expect(summarize(body.notifications)).toEqual(expected.slice(offset, end));
        const [, after = ''] = /after=([\w-]+)/.exec(headers.get('link') ?? '') ?? [];
        expect(parsePosition(after)?.id).toBe(end < expected.length ? `n-${end}` : undefined);
      },
    ),
    { numRuns: 15, examples: [250, 251, 700].map((limit) => [limit, 0]) },
  );
});

test('a whole list whose filter matches few records is complete, and no statement reads the whole list', async () => {
  await insert('dave', Array(25_000).fill(10));
  const ids = ['n-9', 'n-10000', 'n-10001', 'n-24999'];
  const dismiss = `update notification set status = 'dismissed' where user_id = 'dave' and id = any($1)`;
  await gateway.database.sql(dismiss, [ids]);
  const read = (query: string) => gateway.as('dave').rest.get(`/user/notifications?${query}`);

  const few = await read('status=dismissed&kind=plan_requested');
  expect(few.body.notifications.map(({ id }: Listed) => id)).toEqual(ids);
  const none = await read('kind=task_failed');
  expect(none.body).toEqual({ notifications: [] });
  // Lists that one statement reads are sent at once.
  for (const { headers } of [few, none]) expect(headers.get('transfer-encoding')).toBe('chunked');
  expect((await read('kind=task_failed&limit=5')).body).toEqual({ notifications: [] });
});

test.each([
  ['', 1],
  ['?limit=500', 1],
  ['?limit=501', 2],
  ['?limit=2199', 5],
  ['?limit=2147483647', 1],
])(
  'the list %s costs %i: a point for each 500 records of a limit that ends it, however many pages are read',
  async (query, cost) => {
    const remaining = async (path: string) => {
      const { headers } = await gateway.as('carol').rest.get(`/user/notifications${path}`);
      return Number(headers.get('ratelimit-remaining'));
    };
    const before = await remaining('?limit=1');
    expect(await remaining(query)).toBe(before - cost);
    expect(await remaining('?limit=1')).toBe(before - cost - 1);
  },
);

test('a list is returned whole if one point is left, and the next one is refused', async () => {
  const read = () => limited.as('carol').rest.get('/user/notifications?limit=2199');
  const [first, second] = [await read(), await read()];
  expect([first.status, first.body.notifications.length, second.status]).toEqual([200, 2199, 429]);
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
