import { describe, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, publish, resolve } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();

type State = {
  id: string;
  status: string;
  updated_at: string;
  dismissed_at: string | null;
  resolved_at: string | null;
};

const state = `... on UserNotification {
  id status updated_at: updatedAt dismissed_at: dismissedAt resolved_at: resolvedAt
}`;

/** Dismisses a notification over either API, and returns the state in the same format. */
const dismissBy = {
  async REST(userId: string, id: string): Promise<State> {
    const path = `/user/notifications/${encodeURIComponent(id)}/dismiss`;
    const reply = await rest(gateway, 'POST', path, { token: await member(userId) });
    expect(reply.status, reply.text).toBe(200);
    return reply.body.notification;
  },
  async GraphQL(userId: string, id: string): Promise<State> {
    const dismiss = `mutation ($id: ID!) { dismissNotification(input: { id: $id }) { notification { ${state} } } }`;
    const { notification } = (await asMember(gateway, userId, dismiss, { id })).dismissNotification;
    return { ...notification, status: notification.status.toLowerCase() };
  },
};
const apis = ['REST', 'GraphQL'] as const;

async function find(userId: string, id: string) {
  const query = `query ($id: ID!) { notification(id: $id) { ${state} ... on UserNotification { resolution } } }`;
  return (await asMember(gateway, userId, query, { id })).notification;
}

async function publishResolved(userId: string) {
  const task = { id: `task of ${userId}`, projectId: 'p' };
  const { id } = await publish(gateway, userId, 'question_requested', { task });
  await resolve(gateway, userId, task.id, 'ANSWERED_ELSEWHERE');
  return id;
}

async function readRevisions(userId: string) {
  const [row] = await gateway.database.sql(
    `select r.notifications::int as current, max(n.revision)::int as newest
       from user_revision r left join notification n using (user_id) where user_id = $1 group by 1`,
    [userId],
  );
  return row;
}

describe.each(apis)('dismissing over %s', (api) => {
  const dismiss = dismissBy[api];

  test('dismisses an active notification', async () => {
    const user = `active-${api}`;
    const { id } = await publish(gateway, user);

    const dismissed = await dismiss(user, id);

    expect(dismissed).toMatchObject({ id, status: 'dismissed', resolved_at: null });
    expect(dismissed.dismissed_at).toBe(dismissed.updated_at);
    const { dismissed_at } = dismissed;
    expect(await find(user, id)).toMatchObject({ status: 'DISMISSED', dismissed_at, resolution: null });
  });

  test('dismisses a resolved notification, and keeps when and why it was resolved', async () => {
    const user = `resolved-${api}`;
    const id = await publishResolved(user);
    const { resolved_at } = await find(user, id);
    expect(resolved_at).toEqual(expect.any(String));

    expect(await dismiss(user, id)).toMatchObject({ status: 'dismissed', resolved_at });
    expect(await find(user, id)).toMatchObject({
      status: 'DISMISSED',
      resolved_at,
      resolution: 'ANSWERED_ELSEWHERE',
    });
  });

  test('a repeated dismissal succeeds and changes nothing, including updated_at and the revision', async () => {
    const user = `again-${api}`;
    const { id } = await publish(gateway, user);
    const first = await dismiss(user, id);
    const before = await gateway.database.sql('select * from notification where user_id = $1', [user]);
    const revision = await readRevisions(user);

    expect(await dismiss(user, id)).toEqual(first);
    expect(await gateway.database.sql('select * from notification where user_id = $1', [user])).toEqual(
      before,
    );
    expect(await readRevisions(user)).toEqual(revision);
  });

  test('concurrent dismissals return the same result, and only one changes the notification', async () => {
    const user = `at-once-${api}`;
    const { id } = await publish(gateway, user);
    const before = await readRevisions(user);

    const results = await Promise.all(Array.from({ length: 8 }, () => dismiss(user, id)));

    for (const result of results) expect(result).toEqual(results[0]);
    const after = await readRevisions(user);
    expect(after?.newest).toBe(Number(before?.newest) + 1);
    expect(after?.current, 'a dismissal that changes nothing raises no revision').toBe(after?.newest);
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
    const user = `ids-${api}`;
    await publish(gateway, user, 'task_failed', { id });

    expect((await find(user, id)).id).toBe(id);
    expect((await dismiss(user, id)).id).toBe(id);
    const { body } = await rest(gateway, 'GET', '/user/notifications', { token: await member(user) });
    expect(body.notifications).toContainEqual(expect.objectContaining({ id, status: 'dismissed' }));
  });
});

test("returns the same 404 for another user's notification, an unknown one and an unknown path", async () => {
  const { id } = await publish(gateway, 'its-owner');
  const token = await member('another-user');
  const dismiss = (id: string) => rest(gateway, 'POST', `/user/notifications/${id}/dismiss`, { token });

  const hidden = await dismiss(id);
  const unknown = await dismiss('unknown');
  const nowhere = await rest(gateway, 'POST', '/no/such/path', { token });

  expect(hidden.status).toBe(404);
  expect(unknown.status).toBe(404);
  expect(unknown.text).toBe(hidden.text);
  expect(nowhere.text).toBe(hidden.text);
  expect(await find('its-owner', id)).toMatchObject({ status: 'ACTIVE' });
});

test('two users can have notifications with the same ID', async () => {
  await publish(gateway, 'twin-1', 'task_failed', { id: 'shared' });
  await publish(gateway, 'twin-2', 'task_failed', { id: 'shared' });

  await dismissBy.REST('twin-1', 'shared');

  expect(await find('twin-1', 'shared')).toMatchObject({ status: 'DISMISSED' });
  expect(await find('twin-2', 'shared')).toMatchObject({ status: 'ACTIVE' });
});

test('timestamps never decrease, even if the clock of another process was ahead', async () => {
  const { id } = await publish(gateway, 'ahead');
  await gateway.database.sql(`update notification set created_at = '2999-01-01', updated_at = '2999-01-01'
    where user_id = 'ahead'`);

  const time = '2999-01-01T00:00:00.000Z';
  expect(await dismissBy.REST('ahead', id)).toMatchObject({ updated_at: time, dismissed_at: time });
});

test('dismissing ignores the body', async () => {
  const { id } = await publish(gateway, 'with-body');

  const reply = await rest(gateway, 'POST', `/user/notifications/${id}/dismiss`, {
    token: await member('with-body'),
    raw: '{ not json',
    headers: { 'Content-Type': 'text/nonsense' },
  });

  expect(reply.status).toBe(200);
});
