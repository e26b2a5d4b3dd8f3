import { expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { type Kind, payloads, publish, readStatuses } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const task = { id: 'task', projectId: 'project' };
const ofTask = { taskId: 'task', reason: 'ANSWERED_ELSEWHERE' };
const kinds = Object.keys(payloads) as Kind[];

/** Publishes one active notification of each kind, all for one task. */
async function publishAll(userId: string) {
  for (const kind of kinds) await publish(gateway, userId, kind, { id: kind, task });
}

/** Resolves notifications, by default of the task, and returns their IDs. */
const resolve = async (userId: string, input: object = ofTask) => {
  const resolved = await as(platform).resolve({ reason: 'ANSWERED_ELSEWHERE', ...input, userId });
  return resolved.map(({ id }) => id);
};

test.each(['ANSWERED_ELSEWHERE', 'RESUMED', 'TASK_DELETED'])(
  'returns the reason %s as resolution',
  async (reason) => {
    const userId = `reason-${reason}`;
    await publishAll(userId);

    const resolved = await as(platform).resolve({ userId, taskId: 'task', reason });

    expect(resolved.map(({ id }) => id)).toEqual(kinds);
    for (const notification of resolved) {
      const { updatedAt } = notification;
      expect(notification).toMatchObject({ status: 'RESOLVED', resolution: reason, resolvedAt: updatedAt });
      expect(await as(userId).notification(notification)).toEqual(notification);
    }
  },
);

test('of a task: resolves only the given kinds, and nothing of another task or user', async () => {
  await publishAll('some');
  await publish(gateway, 'some', 'task_failed', { id: 'other', task: { ...task, id: 'other' } });
  await publish(gateway, 'some-too', 'task_failed', { id: 'same task', task });

  const selected = { ...ofTask, kinds: ['TASK_FAILED', 'PLAN_REQUESTED'] };
  expect(await resolve('some', selected)).toEqual(['plan_requested', 'task_failed']);

  expect(await readStatuses(gateway, 'some')).toEqual({
    plan_requested: 'resolved',
    question_requested: 'active',
    task_failed: 'resolved',
    task_response_ready: 'active',
    other: 'active',
  });
  expect(await readStatuses(gateway, 'some-too')).toEqual({ 'same task': 'active' });
});

test('of a task: leaves dismissed notifications, and returns only those that it changed', async () => {
  const user = 'untouched';
  await publishAll(user);
  await dismiss(gateway, user, ['task_failed']);
  await resolve(user, { ...ofTask, kinds: ['PLAN_REQUESTED'] });

  expect(await resolve(user)).toEqual(['question_requested', 'task_response_ready']);

  expect(await as(user).notification({ id: 'task_failed' })).toMatchObject({
    status: 'DISMISSED',
    resolvedAt: null,
    resolution: null,
  });
});

test('returns an empty list and no new revision if nothing is active', async () => {
  await publishAll('again');
  await resolve('again');
  const revision = () =>
    gateway.database.sql(`select notifications from user_revision where user_id = 'again'`);
  const before = await revision();

  expect(await resolve('again')).toEqual([]);
  expect(await resolve('never-seen')).toEqual([]);
  expect(await resolve('again', { ids: [] })).toEqual([]);
  expect(await revision()).toEqual(before);
});

test('by ID: resolves the active notifications, of any task, oldest first', async () => {
  for (const id of ['n-1', 'n-2', 'n-3', 'n-4']) await publish(gateway, 'ids', 'task_failed', { id });
  await publish(gateway, 'other', 'plan_requested', { id: 'n-5' });
  await dismiss(gateway, 'ids', ['n-2']);

  const ids = ['n-3', 'n-2', 'n-1', 'n-1', 'n-5', 'unknown'];
  expect(await resolve('ids', { ids })).toEqual(['n-1', 'n-3']);
  expect(await resolve('ids', { ids })).toEqual([]);
  expect(await resolve('other', { ids })).toEqual(['n-5']);
});

test('by ID: withdraws the open requests of dismissed notifications, which stay dismissed', async () => {
  await publish(gateway, 'hidden', 'plan_requested', { id: 'n-1' });
  await dismiss(gateway, 'hidden', ['n-1']);

  expect(await resolve('hidden', { ids: ['n-1'] })).toEqual(['n-1']);
  expect(await resolve('hidden', { ids: ['n-1'] })).toEqual([]);
  const { status, request } = await as('hidden').notification({ id: 'n-1' });
  expect([status, request?.state]).toEqual(['DISMISSED', 'WITHDRAWN']);
});

test('by tool: resolves the plan or question of the task', async () => {
  await publishAll('tool');
  for (const [input, ids] of [
    [{ toolId: 'tool-3' }, []],
    [{ toolId: 'tool-1', taskId: 'another' }, []],
    [{ toolId: 'tool-1', kinds: ['QUESTION_REQUESTED'] }, []],
    [{ toolId: 'tool-1' }, ['plan_requested']],
    [{ toolId: 'tool-2' }, ['question_requested']],
    [{}, ['task_failed', 'task_response_ready']],
  ] as const)
    expect(await resolve('tool', { taskId: 'task', ...input })).toEqual(ids);
});

const before = '2026-05-04T10:00:00.000Z';
const required: [string, string] = ['input.taskId', 'is required unless ids is given'];

test.each<[input: object, ...items: [location: string, message: string][]]>([
  [{}, required],
  [{ kinds: ['TASK_FAILED'], before }, required],
  [{ taskId: 'task', ids: ['n'] }, ['input.taskId', 'must not be combined with ids']],
  [
    { ids: ['n'], kinds: [], toolId: 't', before },
    ['input.kinds', 'must not be combined with ids'],
    ['input.toolId', 'must not be combined with ids'],
    ['input.before', 'must not be combined with ids'],
  ],
  [{ taskId: 'task', toolId: 't', before }, ['input.before', 'must not be combined with toolId']],
  [{ ids: Array(101).fill('n') }, ['input.ids', 'must have at most 100 items']],
  [{ ids: ['n', ''] }, ['input.ids[1]', 'must be 1 to 255 characters without control characters']],
])('refuses %j', async (input, ...items) => {
  await expect(resolve('alice', input)).rejects.toMatchObject(refused('VALIDATION_FAILED', ...items));
});
