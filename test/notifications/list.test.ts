import { beforeAll, expect, test } from 'vitest';
import type { NotificationFilter } from '../../clients/typescript/src/generated/types.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { publish, resolve } from '../support/records.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const toIds = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** Returns the IDs of a user's notifications over REST. */
async function readIds(userId: string, search = ''): Promise<string[]> {
  const { status, text, body } = await as(userId).rest.get(`/user/notifications${search}`);
  expect(status, text).toBe(200);
  return toIds(body.notifications);
}

/** Returns the IDs of a page of a user's notifications over GraphQL. */
async function page(userId: string, variables: object = {}) {
  const { nodes, totalCount, pageInfo } = await as(userId).notifications(variables);
  return { ids: toIds(nodes), totalCount, hasNext: pageInfo.hasNextPage, end: pageInfo.endCursor };
}

const fill = async (user: string, ids: readonly string[]) => {
  for (const id of ids) await publish(gateway, user, 'task_failed', { id });
};

/** Inserts many notifications without the gateway. The last one is the newest. */
const storeMany = (userId: string, count: number) =>
  insertNotifications(gateway.database, userId, count, {
    kind: `'task_failed'`,
    task_id: `'task-' || n`,
    status: `'active'`,
    payload: `'{"taskStatus":"errored","message":null,"messageLabel":null,"messageTimestamp":null}'`,
    created_at: `now() + n * interval '1 s'`,
  });

test('users see only their own notifications, and an empty list if they have none', async () => {
  await fill('mine', ['of mine']);
  await fill('yours', ['of yours']);
  expect(await readIds('mine')).toEqual(['of mine']);
  expect((await page('yours')).ids).toEqual(['of yours']);
  expect([await readIds('nobody'), (await page('nobody')).ids]).toEqual([[], []]);
});

test('notifications do not require membership in an organization', async () => {
  await fill('non-member', ['alone']);
  const { rest } = as(() => signToken({ sub: 'non-member' }));
  expect(toIds((await rest.get('/user/notifications')).body.notifications)).toEqual(['alone']);
});

test('returns the newest first; for equal timestamps, the greater ID by code point', async () => {
  await fill('ordered', ['a', 'B', 'é', '\uFFFD', '\u{1F600}', 'a-b', 'a b']);
  await gateway.database.sql(`update notification set created_at = '2026-01-01' where user_id = 'ordered'`);
  await fill('ordered', ['0 but newer']);

  const expected = ['0 but newer', '\u{1F600}', '\uFFFD', 'é', 'a-b', 'a b', 'a', 'B'];
  expect(await readIds('ordered')).toEqual(expected);
  expect((await page('ordered')).ids).toEqual(expected);

  // An index happens to return this order; without it only ORDER BY does.
  await gateway.database.sql('drop index notification_newest');
  expect(await readIds('ordered')).toEqual(expected);
});

test('returns all results by default, and a page with limit and offset', async () => {
  await storeMany('many', 230);
  const all = await readIds('many');
  expect([all.length, all[0]]).toEqual([230, 'n-230']);

  for (const [search, expected] of [
    ['?limit=1', all.slice(0, 1)],
    ['?limit=100&offset=0', all.slice(0, 100)],
    ['?limit=100&offset=200', all.slice(200)],
    ['?offset=225', all.slice(225)],
    ['?limit=10&offset=230', []],
    ['?limit=2147483647', all],
    ['?status=active&limit=2&offset=3', all.slice(3, 5)],
  ] as const)
    expect(await readIds('many', search), search).toEqual(expected);
});

test('paging by cursor neither skips nor repeats notifications while others are published or leave the filter', async () => {
  await fill('stable', ['1', '2', '3', '4', '5']);
  const filter = { statuses: ['ACTIVE'] } as const;
  const before = (await page('stable')).ids;
  const first = await page('stable', { first: 2, filter });
  await fill('stable', ['late']);
  // The cursor remains valid after its own notification left the list.
  await dismiss(gateway, 'stable', first.ids);

  const second = await page('stable', { first: 10, after: first.end, filter });

  expect([...first.ids, ...second.ids]).toEqual(before);
});

/** The notifications in order of creation, one second apart. */
const records = [
  { id: 'a', taskId: 'task-1', projectId: 'web-shop', kind: 'plan_requested', status: 'active' },
  { id: 'b', taskId: 'task-1', projectId: 'web-shop', kind: 'task_failed', status: 'active' },
  { id: 'c', taskId: 'task-2', projectId: 'web-shop', kind: 'task_failed', status: 'resolved' },
  { id: 'd', taskId: 'task-3', projectId: 'data-pipeline', kind: 'task_failed', status: 'dismissed' },
  { id: 'e', taskId: 'task-3', projectId: 'data-pipeline', kind: 'plan_requested', status: 'active' },
] as const;
const createdAt = (id: string) => `2026-05-01T00:00:0${records.findIndex((record) => record.id === id)}.000Z`;

beforeAll(async () => {
  for (const { id, taskId, projectId, kind, status } of records) {
    for (const user of ['filtering', 'another'])
      await publish(gateway, user, kind, { id, task: { id: taskId, projectId } });
    if (status === 'resolved') await resolve(gateway, 'filtering', taskId);
    if (status === 'dismissed') await dismiss(gateway, 'filtering', [id]);
    await gateway.database.sql('update notification set created_at = $1 where id = $2', [createdAt(id), id]);
  }
});

test.each([
  ['', 'edcba'],
  ['?status=active', 'eba'],
  ['?status=active&status=dismissed', 'edba'],
  ['?kind=task_failed', 'dcb'],
  ['?kind=plan_requested&status=resolved&kind=task_failed', 'c'],
  ['?status=active&status=active', 'eba'],
])('GET /user/notifications%s filters by status and kind', async (search, ids) => {
  expect((await readIds('filtering', search)).join('')).toBe(ids);
});

test.each<[NotificationFilter, string]>([
  [{ statuses: ['ACTIVE', 'RESOLVED'], kinds: ['TASK_FAILED'] }, 'cb'],
  [{ projectIds: ['web-shop'] }, 'cba'],
  [{ projectIds: ['data-pipeline'], kinds: ['TASK_FAILED'] }, 'd'],
  [{ projectIds: ['unknown'] }, ''],
  [{ taskIds: ['task-1'] }, 'ba'],
  [{ taskIds: ['task-1'], projectIds: ['web-shop'], kinds: ['PLAN_REQUESTED'] }, 'a'],
  [{ taskIds: ['task-1'], projectIds: ['data-pipeline'] }, ''],
  [{ createdFrom: createdAt('b'), createdBefore: createdAt('d') }, 'cb'],
  [{ createdFrom: createdAt('d') }, 'ed'],
  [{ createdBefore: createdAt('b') }, 'a'],
  [{ createdBefore: createdAt('b'), createdFrom: createdAt('d') }, ''],
  [{ taskIds: ['task-1'], createdBefore: createdAt('b') }, 'a'],
  [
    { projectIds: null, taskIds: null, createdFrom: null, createdBefore: null, statuses: null, kinds: null },
    'edcba',
  ],
  [{ projectIds: [] }, ''],
  [{ taskIds: [] }, ''],
  [{ statuses: [], kinds: ['TASK_FAILED'] }, ''],
  [{ kinds: [] }, ''],
  [{ projectIds: ['web-shop', 'data-pipeline'], taskIds: ['task-3', 'task-2'] }, 'edc'],
])(
  'notifications(filter: %j) returns and counts matching notifications, newest first',
  async (filter, ids) => {
    const { ids: found, totalCount } = await page('filtering', { filter });
    expect([found.join(''), totalCount]).toEqual([ids, ids.length]);
  },
);

test('pages contain only matching notifications, in both directions', async () => {
  for (const filter of [
    { projectIds: ['web-shop'] },
    { createdFrom: createdAt('a'), createdBefore: createdAt('d') },
  ]) {
    const first = await page('filtering', { first: 2, filter });
    expect(first).toMatchObject({ ids: ['c', 'b'], hasNext: true });
    const next = await page('filtering', { first: 2, after: first.end, filter });
    expect(next).toMatchObject({ ids: ['a'], hasNext: false });
    expect((await page('filtering', { last: 2, before: first.end, filter })).ids).toEqual(['c']);
  }
});
