import { expect, test } from 'vitest';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss as dismissAll } from '../support/inbox.ts';
import { publish, readStatuses, resolve } from '../support/records.ts';

const gateway = useGateway();
const { as } = gateway;

const pathOf = (id: string) => `/user/notifications/${encodeURIComponent(id)}/dismiss`;

/** Dismisses a notification over REST, and returns it. */
async function dismiss(userId: string, id: string) {
  const reply = await as(userId).rest.post(pathOf(id));
  expect(reply.status, reply.text).toBe(200);
  return reply.body.notification;
}

/** Returns a user's notifications as they are stored, with the revision of the user. */
const readStored = (userId: string) =>
  gateway.database.sql(
    'select n.*, r.notifications as current from notification n join user_revision r using (user_id) where user_id = $1',
    [userId],
  );

test('dismisses an active notification', async () => {
  const { id } = await publish(gateway, 'active');

  const dismissed = await dismiss('active', id);

  const { dismissed_at } = dismissed;
  expect(dismissed).toMatchObject({ id, status: 'dismissed', resolved_at: null, updated_at: dismissed_at });
  expect(await as('active').notification({ id })).toMatchObject({
    status: 'DISMISSED',
    dismissedAt: dismissed_at,
    resolution: null,
  });
});

test('dismisses a resolved notification, and keeps when and why it was resolved', async () => {
  const { id } = await publish(gateway, 'resolved', 'task_failed', { task: { id: 't', projectId: 'p' } });
  await resolve(gateway, 'resolved', 't');
  const { resolvedAt, resolution } = await as('resolved').notification({ id });
  expect([resolvedAt, resolution]).toEqual([expect.any(String), 'ANSWERED_ELSEWHERE']);

  expect(await dismiss('resolved', id)).toMatchObject({ status: 'dismissed', resolved_at: resolvedAt });
  expect(await as('resolved').notification({ id })).toMatchObject({
    status: 'DISMISSED',
    resolvedAt,
    resolution,
  });
});

test('a repeated dismissal succeeds and changes nothing, including updated_at and the revision', async () => {
  const { id } = await publish(gateway, 'again');
  const first = await dismiss('again', id);
  const stored = await readStored('again');

  expect(await dismiss('again', id)).toEqual(first);
  expect(await as('again').dismiss({ id })).toMatchObject({ id, dismissedAt: first.dismissed_at });
  expect(await readStored('again')).toEqual(stored);
});

test('concurrent dismissals return the same result, and only one changes the notification', async () => {
  const { id } = await publish(gateway, 'at-once');
  const results = await Promise.all(
    Array.from({ length: 8 }, async (_none, number) =>
      number % 2 === 0
        ? (await dismiss('at-once', id)).dismissed_at
        : (await as('at-once').dismiss({ id })).dismissedAt,
    ),
  );
  expect(new Set(results).size).toBe(1);
  expect(await readStored('at-once')).toMatchObject([{ revision: '2', current: '2' }]);
});

test('accepts any ID in every operation, also one that is special in URLs or in SQL', async () => {
  const longest = '\u{1F600}'.repeat(255);
  for (const id of ['a/../b', '100%', '%2F', 'ä 漢字', '?query#fragment', ' ', '"quoted\'; --', longest]) {
    await publish(gateway, 'ids', 'task_failed', { id });
    expect((await as('ids').notification({ id })).id).toBe(id);
    expect((await dismiss('ids', id)).id).toBe(id);
  }
});

test("returns the same 404 for another user's notification, an unknown one and an unknown path", async () => {
  const { id } = await publish(gateway, 'its-owner');
  const { rest } = as('another-user');
  const replies = await Promise.all(
    [pathOf(id), pathOf('unknown'), '/no/such/path'].map((at) => rest.post(at)),
  );

  expect(replies.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  expect(await as('its-owner').notification({ id })).toMatchObject({ status: 'ACTIVE' });
});

test('timestamps never decrease, even if the clock of another process was ahead', async () => {
  const { id } = await publish(gateway, 'ahead');
  const time = '2999-01-01T00:00:00.000Z';
  await gateway.database.sql(
    `update notification set created_at = $1, updated_at = $1 where user_id = 'ahead'`,
    [time],
  );
  expect(await dismiss('ahead', id)).toMatchObject({ updated_at: time, dismissed_at: time });
});

const fill = (user: string, ids: readonly string[]) =>
  Promise.all(ids.map((id) => publish(gateway, user, 'task_failed', { id })));
const manyIds = Array.from({ length: 101 }, (_none, number) => `n-${number}`);

test('by IDs: dismisses active and resolved notifications, and returns those that it changed', async () => {
  await publish(gateway, 'several', 'task_failed', { id: 'resolved', task: { id: 'task', projectId: 'p' } });
  await resolve(gateway, 'several', 'task');
  await fill('several', ['a', 'b', 'kept']);
  await fill('others', ['theirs']);

  expect((await dismissAll(gateway, 'several', ['a', 'resolved', 'a'])).sort()).toEqual(['a', 'resolved']);
  expect(await dismissAll(gateway, 'several', ['a', 'unknown', 'theirs', 'b'])).toEqual(['b']);
  expect(await dismissAll(gateway, 'several', [])).toEqual([]);
  expect(await dismissAll(gateway, 'several', manyIds.slice(1))).toEqual([]);

  const dismissed = { a: 'dismissed', b: 'dismissed', resolved: 'dismissed' };
  expect(await readStatuses(gateway, 'several')).toEqual({ ...dismissed, kept: 'active' });
  expect(await readStatuses(gateway, 'others')).toEqual({ theirs: 'active' });
});

test('by filter: dismisses active ones up to a cursor of the user, of the given kinds and projects', async () => {
  const user = 'seen';
  const inProject = (id: string, projectId: string) => ({ id, task: { id, projectId } });
  await publish(gateway, user, 'task_failed', inProject('failed-p', 'p'));
  await publish(gateway, user, 'task_failed', inProject('failed-q', 'q'));
  await publish(gateway, user, 'plan_requested', inProject('plan-p', 'p'));
  const upTo = await currentCursor(gateway, user);
  await fill(user, ['later']);
  await fill('other-user', ['a', 'b', 'c', 'd', 'e']);
  const cursorOfAnother = await currentCursor(gateway, 'other-user');

  for (const [filter, ids] of [
    [{ upTo: cursorOfAnother }, []],
    [{ kinds: [] }, []],
    [{ kinds: ['TASK_FAILED'], projectIds: ['p'] }, ['failed-p']],
    [{ projectIds: ['q'] }, ['failed-q']],
    // Open requests are kept unless the filter includes them.
    [{}, []],
    [{ kinds: ['PLAN_REQUESTED'], openRequests: true }, ['plan-p']],
    [{ openRequests: true }, []],
  ] as const)
    expect(await dismissAll(gateway, user, { filter: { upTo, ...filter } })).toEqual(ids);
  expect(await readStatuses(gateway, user)).toMatchObject({ later: 'active' });
});

test.each([
  [{ ids: manyIds }, 'input.ids', 'must have at most 100 items'],
  [{ ids: ['a', ''] }, 'input.ids[1]', 'must be 1 to 255 characters without control characters'],
  [{ filter: { upTo: 'x' } }, 'input.filter.upTo', 'must be an event cursor'],
  [
    { filter: { upTo: formatEventCursor({ epoch: '\u0000', revision: 1 }) } },
    'input.filter.upTo',
    'must be an event cursor',
  ],
])('refuses %j', async (input, location, message) => {
  await expect(as('refused').dismissAll(input)).rejects.toMatchObject(
    refused('VALIDATION_FAILED', [location, message]),
  );
});
