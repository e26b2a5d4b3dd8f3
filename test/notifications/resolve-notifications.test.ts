import { expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, asPlatform, type Kind, payloads, publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();

const fields = '... on UserNotification { id status resolvedAt resolution updatedAt }';
type Resolved = { id: string; status: string; resolvedAt: string; resolution: string; updatedAt: string };

async function resolve(userId: string, input: Record<string, unknown> = {}): Promise<Resolved[]> {
  const data = await asPlatform(
    gateway,
    `mutation ($input: ResolveNotificationsInput!) {
      resolveNotifications(input: $input) { notifications { ${fields} } }
    }`,
    { input: { userId, taskId: 'task', reason: 'ANSWERED_ELSEWHERE', ...input } },
  );
  return data.resolveNotifications.notifications;
}

async function find(userId: string, id: string) {
  const query = `query ($id: ID!) { notification(id: $id) { ${fields} } }`;
  return (await asMember(gateway, userId, query, { id })).notification;
}

const task = { id: 'task', projectId: 'project' };
const kinds = Object.keys(payloads) as Kind[];

/** Publishes one active notification of each kind, all for one task. */
async function publishAll(userId: string) {
  for (const kind of kinds) await publish(gateway, userId, kind, { id: kind, task });
}

test.each(['ANSWERED_ELSEWHERE', 'RESUMED', 'TASK_DELETED'])(
  'returns the reason %s as resolution',
  async (reason) => {
    const user = `reason-${reason}`;
    await publishAll(user);

    const resolved = await resolve(user, { reason });

    expect(resolved.map(({ id }) => id)).toEqual(kinds);
    for (const notification of resolved) {
      expect(notification).toMatchObject({ status: 'RESOLVED', resolution: reason });
      expect(notification.resolvedAt).toBe(notification.updatedAt);
      expect(await find(user, notification.id)).toEqual(notification);
    }
  },
);

test('resolves only the given kinds', async () => {
  await publishAll('some-kinds');
  const resolved = await resolve('some-kinds', { kinds: ['TASK_FAILED', 'PLAN_REQUESTED'] });
  expect(resolved.map(({ id }) => id)).toEqual(['plan_requested', 'task_failed']);
  expect(await find('some-kinds', 'question_requested')).toMatchObject({ status: 'ACTIVE' });
});

test('does not resolve notifications of another task or user', async () => {
  await publish(gateway, 'stays', 'task_failed', { id: 'other', task: { ...task, id: 'other' } });
  await publish(gateway, 'stays-too', 'task_failed', { id: 'same task', task });

  expect(await resolve('stays')).toEqual([]);

  expect(await find('stays', 'other')).toMatchObject({ status: 'ACTIVE' });
  expect(await find('stays-too', 'same task')).toMatchObject({ status: 'ACTIVE' });
});

test('does not change resolved and dismissed notifications, and returns only those that it changed', async () => {
  await publishAll('untouched');
  const token = await member('untouched');
  await rest(gateway, 'POST', '/user/notifications/task_failed/dismiss', { token });
  await resolve('untouched', { kinds: ['PLAN_REQUESTED'], reason: 'RESUMED' });
  const [plan, failed] = [await find('untouched', 'plan_requested'), await find('untouched', 'task_failed')];

  const resolved = await resolve('untouched', { reason: 'TASK_DELETED' });

  expect(resolved.map(({ id }) => id)).toEqual(['question_requested', 'task_response_ready']);
  expect(await find('untouched', 'plan_requested')).toEqual(plan);
  expect(await find('untouched', 'task_failed')).toEqual(failed);
  expect(failed).toMatchObject({ status: 'DISMISSED', resolvedAt: null, resolution: null });
});

test('returns an empty list and no new revision if nothing is active', async () => {
  await publishAll('again');
  await resolve('again');
  const revision = () =>
    gateway.database.sql(`select notifications from user_revision where user_id = 'again'`);
  const before = await revision();

  expect(await resolve('again')).toEqual([]);
  expect(await resolve('never-seen')).toEqual([]);
  expect(await revision()).toEqual(before);
});
