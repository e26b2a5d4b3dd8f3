import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { publish, resolve } from '../support/records.ts';

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

test.each([
  ['a slash', 'with/slash'],
  ['dots between slashes', 'a/../b'],
  ['a percent sign', '100%'],
  ['text that looks percent-encoded', '%2F'],
  ['letters of several scripts', 'ä ö 漢字'],
  ['URL delimiters', '?query#fragment'],
  ['one space', ' '],
  ['quotes', '"quoted\'; --'],
  ['255 characters of two UTF-16 code units each', '\u{1F600}'.repeat(255)],
])('accepts an ID with %s in every operation', async (_what, id) => {
  await publish(gateway, 'ids', 'task_failed', { id });
  expect((await as('ids').notification({ id })).id).toBe(id);
  expect((await dismiss('ids', id)).id).toBe(id);
  const { body } = await as('ids').rest.get('/user/notifications');
  expect(body.notifications).toContainEqual(expect.objectContaining({ id, status: 'dismissed' }));
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

test('two users can have notifications with the same ID', async () => {
  for (const user of ['twin-1', 'twin-2']) await publish(gateway, user, 'task_failed', { id: 'shared' });
  await dismiss('twin-1', 'shared');
  const statuses = ['twin-1', 'twin-2'].map(
    async (user) => (await as(user).notification({ id: 'shared' })).status,
  );
  expect(await Promise.all(statuses)).toEqual(['DISMISSED', 'ACTIVE']);
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

test('dismissing ignores the body', async () => {
  const { id } = await publish(gateway, 'with-body');
  const reply = await as('with-body').rest.post(pathOf(id), undefined, {
    raw: '{ not json',
    headers: { 'Content-Type': 'text/nonsense' },
  });
  expect(reply.status).toBe(200);
});
