import { describe, expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { type Kind, notification, resolve, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/* That the order of arrival does not matter is a property in lifecycle.test.ts. */

const gateway = useGateway();
const { as } = gateway;

const task = { id: 'task', projectId: 'project' };
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

const publish = async (
  userId: string,
  id: string,
  minute: number,
  kind: Kind = 'task_failed',
  given = task,
) =>
  (await as(platform).publish(notification(userId, kind, { id, task: given, occurredAt: at(minute) })))
    .notification;

/** Returns the status and resolution of each of a user's notifications by ID. */
async function readStates(userId: string): Promise<Record<string, string>> {
  const rows = await gateway.database.sql(
    `select id, concat_ws(' ', status, resolution) as state from notification where user_id = $1 order by id`,
    [userId],
  );
  return Object.fromEntries(rows.map(({ id, state }) => [String(id), String(state)]));
}

test.each<[status: string, change: (user: string) => Promise<unknown>, state: string]>([
  ['active', async () => undefined, 'active'],
  ['dismissed', (user) => dismiss(gateway, user, ['newest']), 'dismissed'],
  ['resolved', (user) => resolve(gateway, user, task.id), 'resolved answered_elsewhere'],
])(
  'a notification older than the latest of its task and kind is stored and sent as superseded if the latest is %s',
  async (status, change, state) => {
    const user = `late-${status}`;
    await publish(user, 'newest', 2);
    await change(user);
    const stream = await subscribeToNotifications(gateway, user);

    const late = await publish(user, 'late', 1);

    expect(late).toMatchObject({ status: 'RESOLVED', resolution: 'SUPERSEDED', resolvedAt: late.createdAt });
    expect(await readStates(user)).toEqual({ late: 'resolved superseded', newest: state });
    expect(await nextEvent(stream)).toMatchObject({
      type: 'RESOLVED',
      notification: { id: 'late' },
      counts: { total: status === 'active' ? 1 : 0 },
    });
    stream.close();
  },
);

test('notifications of another task, kind or user are independent', async () => {
  await publish('apart', 'newest', 9);
  await publish('apart', 'task', 1, 'task_failed', { ...task, id: 'other' });
  await publish('apart', 'kind', 1, 'plan_requested');
  await publish('apart-too', 'user', 1);
  expect(await readStates('apart')).toEqual({ newest: 'active', task: 'active', kind: 'active' });
  expect(await readStates('apart-too')).toEqual({ user: 'active' });
});

describe('resolving with `before`', () => {
  test('resolves what occurred until then, also what is published later, of its task and kinds', async () => {
    await publish('upto', 'at-5', 5);
    await publish('upto', 'plan', 4, 'plan_requested');
    await publish('upto', 'at-9', 9, 'question_requested');
    const kinds = ['TASK_FAILED', 'QUESTION_REQUESTED'];
    await as(platform).resolve({
      userId: 'upto',
      taskId: task.id,
      kinds,
      reason: 'TASK_DELETED',
      before: at(5),
    });
    await publish('upto', 'late-4', 4, 'question_requested');
    await publish('upto', 'late-6', 6);
    await publish('upto', 'other', 4, 'task_failed', { ...task, id: 'other' });
    expect(await readStates('upto')).toEqual({
      'at-5': 'resolved task_deleted',
      plan: 'active',
      'at-9': 'active',
      'late-4': 'resolved superseded',
      'late-6': 'active',
      other: 'active',
    });
  });

  test('an earlier `before` does not replace a later one', async () => {
    await resolve(gateway, 'latest', task.id, 'ANSWERED_ELSEWHERE', at(5));
    await resolve(gateway, 'latest', task.id, 'RESUMED', at(3));
    await publish('latest', 'covered', 4);
    expect(await readStates('latest')).toEqual({ covered: 'resolved answered_elsewhere' });
  });

  test('is optional: without it, only active notifications are resolved', async () => {
    await publish('now', 'first', 1);
    await resolve(gateway, 'now', task.id);
    await publish('now', 'second', 2);
    expect(await readStates('now')).toEqual({ first: 'resolved answered_elsewhere', second: 'active' });
  });
});

const ahead = (time: string) => notification('ahead', 'task_failed', { occurredAt: time });

test.each<[location: string, send: (time: string) => Promise<unknown>]>([
  ['input.occurredAt', (time) => as(platform).publish(ahead(time))],
  [
    'input.notifications[1].occurredAt',
    (time) => as(platform).publishAll({ notifications: [notification('ahead'), ahead(time)] }),
  ],
  [
    'input.before',
    (before) => as(platform).resolve({ userId: 'ahead', taskId: 'task', reason: 'RESUMED', before }),
  ],
  [
    'input.workspaces[0].updatedAt',
    (updatedAt) =>
      as(platform).putWorkspaces({ userId: 'ahead', workspaces: [workspaceInput({ updatedAt })] }),
  ],
  [
    'input.deletedAt',
    (deletedAt) => as(platform).deleteWorkspace({ userId: 'ahead', id: workspaceInput().id, deletedAt }),
  ],
])('refuses %s more than five minutes in the future', async (location, send) => {
  await send(fromNow(280));
  await expect(send(fromNow(320))).rejects.toMatchObject(
    refused('VALIDATION_FAILED', [location, 'must not be more than five minutes in the future']),
  );
});
