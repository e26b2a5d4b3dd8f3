import { beforeAll, describe, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { changeNotifications, dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { type Kind, payloads, publish, readStatuses, resolve } from '../support/records.ts';
import { signToken } from '../support/tokens.ts';

/* That pages contain every record that a filter matches is a property in graphql/pages.test.ts. */

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
  const { nodes, pageInfo } = await as(userId).notifications(variables);
  return { ids: toIds(nodes), end: pageInfo.endCursor };
}

const fill = async (user: string, ids: readonly string[]) => {
  for (const id of ids) await publish(gateway, user, 'task_failed', { id });
};

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

describe('filters', () => {
  /** The notifications in order of creation. */
  const records = [
    { id: 'a', kind: 'plan_requested', status: 'active' },
    { id: 'b', kind: 'task_failed', status: 'active' },
    { id: 'c', kind: 'task_failed', status: 'resolved' },
    { id: 'd', kind: 'task_failed', status: 'dismissed' },
    { id: 'e', kind: 'plan_requested', status: 'active' },
  ] as const;
  beforeAll(async () => {
    for (const { id, kind, status } of records) {
      await publish(gateway, 'filtering', kind, { id, task: { id, projectId: 'p' } });
      if (status === 'resolved') await resolve(gateway, 'filtering', id);
      if (status === 'dismissed') await dismiss(gateway, 'filtering', [id]);
    }
  });

  test.each([
    ['', 'edcba'],
    ['?status=active', 'eba'],
    ['?status=active&status=dismissed', 'edba'],
    ['?kind=plan_requested&status=resolved&kind=task_failed', 'c'],
  ])('GET /user/notifications%s filters by status and kind', async (search, ids) => {
    expect((await readIds('filtering', search)).join('')).toBe(ids);
  });

  test('of null are none over GraphQL', async () => {
    const none = { projectIds: null, taskIds: null, createdFrom: null, createdBefore: null };
    const { ids } = await page('filtering', { filter: { ...none, statuses: null, kinds: null } });
    expect(ids.join('')).toBe('edcba');
  });
});

const kinds = Object.keys(payloads) as Kind[];

test('counts active notifications of every kind in the order of the specification, including zeros', async () => {
  const task = { id: 'task', projectId: 'project' };
  const read = async () => {
    const { total, byKind } = await as('counting').counts();
    expect(byKind.map(({ kind }) => kind.toLowerCase())).toEqual(kinds);
    return [total, ...byKind.map(({ count }) => count)];
  };
  expect(await read()).toEqual([0, 0, 0, 0, 0]);

  for (const kind of kinds) await publish(gateway, 'counting', kind, { task });
  await publish(gateway, 'counting', 'task_failed', { task });
  await publish(gateway, 'counting', 'task_failed');
  expect(await read()).toEqual([5, 1, 1, 2, 1]);

  await resolve(gateway, 'counting', task.id);
  expect(await read()).toEqual([1, 0, 0, 1, 0]);
});

test('no change is missed between its cursor and `notificationEvents(after:)`', async () => {
  const user = 'gapless';
  const changes = Promise.all(
    Array.from({ length: 20 }, (_none, number) => changeNotifications(gateway, user, number)),
  );
  const { cursor } = await as(user).counts();
  const { nodes } = await as(user).notifications({ first: 100 });
  const state = new Map(nodes.map(({ id, status }) => [id, status.toLowerCase()]));
  const stream = await subscribeToNotifications(gateway, user, cursor);
  await changes;
  await publish(gateway, user, 'task_failed', { id: 'last' });
  let total: number | undefined;
  while (!state.has('last')) {
    const { notification, counts } = await nextEvent(stream);
    state.set(notification.id, notification.status.toLowerCase());
    total = counts.total;
  }
  stream.close();

  const stored = await readStatuses(gateway, user);
  expect(Object.fromEntries(state)).toEqual(stored);
  expect(total).toBe(Object.values(stored).filter((status) => status === 'active').length);
  expect((await as(user).counts()).total).toBe(total);
});
