import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { encodeCursor, formatPosition } from '../../src/values/cursor.ts';
import { toTime } from '../../src/values/time.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';

const INBOX = '/user/notifications';
const WORKSPACES = '/user/workspaces';
const PREFIX = 'https://example.test/account';

const gateway = useGateway();
const published = useGateway({ PUBLIC_URL: `${PREFIX}/` }, gateway);
const { as } = gateway;

/** Inserts notifications, of which every second one has the kind task_failed. The newest has the number 1. */
const insert = (user: string, count: number) =>
  insertNotifications(gateway.database, user, count, {
    kind: `case when n % 2 = 0 then 'task_failed' else 'task_response_ready' end`,
    status: `'active'`,
    task_id: `'task-' || n`,
    payload: `'{"taskStatus":"errored","message":null,"messageLabel":null,"messageTimestamp":null}'`,
  });

async function putSome(user: string, count: number): Promise<string[]> {
  const inputs = Array.from({ length: count }, (_, n) =>
    workspaceInput({ createdAt: new Date(Date.UTC(2026, 0, 1, 0, 0, 60 - n)).toISOString() }),
  );
  await putWorkspaces(gateway, user, inputs);
  return inputs.map(({ id }) => id);
}

async function get(user: string, path: string, headers = {}, at = gateway) {
  const reply = await at.as(user).rest.get(path, { headers });
  const records: { id: string }[] = Object.values<{ id: string }[]>(reply.body ?? {})[0] ?? [];
  const [, next] = /^<(.+)>; rel="next"$/.exec(reply.headers.get('link') ?? '') ?? [];
  return { ...reply, ids: reply.status === 200 ? records.map(({ id }) => id) : [], next };
}

/** Follows the links from a path, and returns the IDs of each page. */
async function followLinks(user: string, path: string, visit: (ids: string[]) => unknown = () => undefined) {
  const pages: string[][] = [];
  for (let at: string | undefined = path; at !== undefined; ) {
    const { ids, next } = await get(user, at);
    pages.push(ids);
    await visit(ids);
    at = next?.replace(gateway.address, '');
  }
  return pages;
}

const numbers = (...list: number[]) => list.map((n) => `n-${n}`);

test.each([INBOX, WORKSPACES])('the links of %s lead to every record once', async (path) => {
  const user = `links ${path}`;
  await insert(user, 5);
  const workspaces = await putSome(user, 5);
  const all = path === INBOX ? numbers(1, 2, 3, 4, 5) : workspaces;

  const pages = [all.slice(0, 2), all.slice(2, 4), all.slice(4)];
  expect(await followLinks(user, `${path}?limit=2`)).toEqual(pages);
  expect(await followLinks(user, `${path}?limit=5`)).toEqual([all]);
  expect(await followLinks(user, `${path}?limit=4&offset=1`)).toEqual([all.slice(1)]);
  expect(await followLinks(user, `${path}?limit=2&offset=1`)).toEqual([all.slice(1, 3), all.slice(3)]);
  expect(await followLinks(user, path)).toEqual([all]);
});

test('links skip no record when earlier ones leave the filter, as offset does', async () => {
  for (const user of ['by link', 'by offset']) await insert(user, 6);
  const dismissAll = (user: string) => (ids: string[]) => as(user).dismissAll({ ids });
  const path = `${INBOX}?status=active&limit=2`;

  const pages = await followLinks('by link', path, dismissAll('by link'));
  expect(pages).toEqual([numbers(1, 2), numbers(3, 4), numbers(5, 6)]);

  await dismissAll('by offset')((await get('by offset', path)).ids);
  expect((await get('by offset', `${path}&offset=2`)).ids).toEqual(numbers(5, 6));
});

test('a link keeps the filters and the limit, and replaces offset by after', async () => {
  await insert('filters', 9);
  const path = `${INBOX}?kind=task_failed&status=active&status=resolved&limit=1&offset=1`;

  const { ids, next = '' } = await get('filters', path);
  expect(ids).toEqual(numbers(4));
  const { origin, pathname, searchParams } = new URL(next);
  expect([origin, pathname]).toEqual([gateway.address, INBOX]);
  const { after, ...others } = Object.fromEntries(searchParams);
  expect(searchParams.getAll('status')).toEqual(['active', 'resolved']);
  expect(others).toEqual({ kind: 'task_failed', status: 'resolved', limit: '1' });
  expect((await get('filters', `${INBOX}?after=${after}`)).ids).toEqual(numbers(5, 6, 7, 8, 9));
  expect(await followLinks('filters', path)).toEqual([numbers(4), numbers(6), numbers(8)]);
});

test('a link begins with PUBLIC_URL and its path prefix', async () => {
  await putSome('published', 2);
  for (const path of [WORKSPACES, '/workspaces']) {
    const { next = '' } = await get('published', `${path}?limit=1&unknown=1`, {}, published);
    expect(next).toMatch(new RegExp(`^${PREFIX}${path}\\?limit=1&after=[\\w-]+$`));
    const second = await get('published', next.replace(PREFIX, ''), {}, published);
    expect([second.ids.length, second.next]).toEqual([1, undefined]);
  }
});

test('a cursor is the same in both APIs', async () => {
  await insert('both', 3);
  const { endCursor } = (await as('both').notifications({ first: 1 })).pageInfo;
  const { ids, next } = await get('both', `${INBOX}?after=${endCursor}&limit=1`);
  expect([ids, next?.includes(`${endCursor}`)]).toEqual([numbers(2), false]);
});

test('a page after a cursor has the entity tag of the whole list', async () => {
  for (const id of numbers(3, 2, 1)) await publish(gateway, 'tagged', 'task_failed', { id });
  const { next = '' } = await get('tagged', `${INBOX}?limit=2`);
  const path = next.replace(gateway.address, '');
  const first = await get('tagged', path);
  const tag = first.headers.get('etag') ?? '';
  expect([first.ids, tag]).toEqual([numbers(3), (await get('tagged', INBOX)).headers.get('etag')]);
  expect((await get('tagged', path, { 'If-None-Match': tag })).status).toBe(304);

  await as('tagged').dismiss({ id: 'n-1' });

  expect((await get('tagged', path, { 'If-None-Match': tag })).status).toBe(200);
  expect((await get('tagged', `${path}&status=dismissed`)).headers.get('etag')).not.toBe(tag);
});

const position = (id: string) => formatPosition({ createdAt: toTime(new Date()), id });
const cursor = position(randomUUID());

test.each([
  ...['', encodeCursor(['a', 1]), position('a\0'), encodeCursor([8.64e15 + 1, randomUUID()]), `${cursor}%3D`],
  'A'.repeat(7000),
])('rejects the cursor "%.60s" with 400', async (after) => {
  await expectRefusal(`after=${after}`, 'must be a cursor of this list', INBOX);
  await expectRefusal(`after=${after}`, 'must be a cursor of this list', WORKSPACES);
});

test.each([
  [`after=${cursor}&offset=0`, 'must not be combined with offset', INBOX],
  [`after=${cursor}&after=${cursor}`, 'must not be repeated', INBOX],
  // A cursor of notifications.
  [`after=${position('n-1')}`, 'must be a cursor of this list', WORKSPACES],
])('rejects ?%s with 400, since it %s', (query, message, path) => expectRefusal(query, message, path));

async function expectRefusal(query: string, message: string, path: string): Promise<void> {
  const { status, body } = await get('invalid', `${path}?${query}`);
  expect([status, body.errors]).toMatchObject([400, [{ location: 'query.after', message }]]);
}
