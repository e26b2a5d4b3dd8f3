import { expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { addTargets, listStored, unreachableProviders, untilEnded } from '../support/delivery.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });

const QUERY = `mutation ($input: ResolveNotificationsInput!) {
  resolveNotifications(input: $input) { notifications { ... on UserNotification { id status } } }
}`;

async function resolve(input: Record<string, unknown>) {
  const token = await platform();
  return graphql(gateway, QUERY, { input: { reason: 'ANSWERED_ELSEWHERE', ...input } }, { token });
}

/** Resolves notifications and returns their IDs. */
async function resolvedIds(input: Record<string, unknown>): Promise<string[]> {
  const { data, errors } = await resolve(input);
  expect(errors).toEqual([]);
  return data.resolveNotifications.notifications.map(({ id }: { id: string }) => id);
}

const task = { id: 'task', projectId: 'project' };
const planOf = (toolId: string) => ({
  planRequested: { toolId, input: { summary: 'In short', plan: '1. Do it' } },
});
const questionOf = (toolId: string) => ({
  questionRequested: { toolId, input: { questions: [{ question: 'Which?', options: [{ label: 'A' }] }] } },
});

test('resolves the active notifications with the IDs, of any task, oldest first', async () => {
  for (const id of ['n-1', 'n-2', 'n-3', 'n-4']) await publish(gateway, 'ids', 'task_failed', { id });
  await publish(gateway, 'other', 'plan_requested', { id: 'n-5' });
  await dismiss(gateway, 'ids', ['n-2']);

  const ids = ['n-3', 'n-2', 'n-1', 'n-1', 'n-5', 'unknown'];
  expect(await resolvedIds({ userId: 'ids', ids })).toEqual(['n-1', 'n-3']);
  expect(await resolvedIds({ userId: 'ids', ids })).toEqual([]);
  expect(await resolvedIds({ userId: 'other', ids })).toEqual(['n-5']);
});

test('returns dismissed notifications whose open requests it withdraws, and leaves them dismissed', async () => {
  await publish(gateway, 'hidden', 'plan_requested', { id: 'n-1' });
  await dismiss(gateway, 'hidden', ['n-1']);

  expect(await resolvedIds({ userId: 'hidden', ids: ['n-1'] })).toEqual(['n-1']);
  expect(await resolvedIds({ userId: 'hidden', ids: ['n-1'] })).toEqual([]);
  expect(
    await gateway.database.sql(`select status, request_state from notification where user_id = 'hidden'`),
  ).toEqual([{ status: 'dismissed', request_state: 'withdrawn' }]);
});

test('cancels the deliveries of notifications that are resolved by ID', async () => {
  await addTargets(gateway, 'cancelled');
  await publish(gateway, 'cancelled', 'plan_requested', { id: 'n-1' });
  await resolvedIds({ userId: 'cancelled', ids: ['n-1'] });
  await untilEnded(gateway);
  expect(new Set(await listStored(gateway.database, 'cancelled'))).toEqual(
    new Set(['chat cancelled settled', 'email cancelled settled', 'push cancelled settled']),
  );
});

test('an empty list of IDs resolves nothing', async () => {
  await publish(gateway, 'none', 'plan_requested', { id: 'n-1' });
  expect(await resolvedIds({ userId: 'none', ids: [] })).toEqual([]);
});

test('resolves the plan or question of a task with a tool ID', async () => {
  const publishPair = async (userId: string) => {
    await publish(gateway, userId, 'plan_requested', { id: 'plan', task, payload: planOf('tool-1') });
    await publish(gateway, userId, 'question_requested', {
      id: 'question',
      task,
      payload: questionOf('tool-2'),
    });
    await publish(gateway, userId, 'task_failed', { id: 'failed', task });
  };
  await publishPair('tool');
  expect(await resolvedIds({ userId: 'tool', taskId: 'task', toolId: 'tool-3' })).toEqual([]);
  expect(await resolvedIds({ userId: 'tool', taskId: 'another', toolId: 'tool-1' })).toEqual([]);
  expect(
    await resolvedIds({ userId: 'tool', taskId: 'task', toolId: 'tool-1', kinds: ['QUESTION_REQUESTED'] }),
  ).toEqual([]);
  expect(await resolvedIds({ userId: 'tool', taskId: 'task', toolId: 'tool-1' })).toEqual(['plan']);
  expect(await resolvedIds({ userId: 'tool', taskId: 'task', toolId: 'tool-2' })).toEqual(['question']);
  expect(await resolvedIds({ userId: 'tool', taskId: 'task' })).toEqual(['failed']);
});

const before = '2026-05-04T10:00:00.000Z';

test.each([
  ['neither taskId nor ids', {}, [['input.taskId', 'is required unless ids is given']]],
  [
    'only filters of a task',
    { kinds: ['TASK_FAILED'], before },
    [['input.taskId', 'is required unless ids is given']],
  ],
  ['both', { taskId: 'task', ids: ['n'] }, [['input.taskId', 'must not be combined with ids']]],
  [
    'ids with the filters of a task',
    { ids: ['n'], kinds: [], toolId: 't', before },
    [
      ['input.kinds', 'must not be combined with ids'],
      ['input.toolId', 'must not be combined with ids'],
      ['input.before', 'must not be combined with ids'],
    ],
  ],
  [
    'before with a tool',
    { taskId: 'task', toolId: 't', kinds: ['PLAN_REQUESTED'], before },
    [['input.before', 'must not be combined with toolId']],
  ],
  ['too many IDs', { ids: Array(101).fill('n') }, [['input.ids', 'must have at most 100 items']]],
  [
    'an invalid ID',
    { ids: ['n', ''] },
    [['input.ids[1]', 'must be 1 to 255 characters without control characters']],
  ],
])('rejects %s', async (_what, input, issues) => {
  const { errors } = await resolve({ userId: 'alice', ...input });
  expect(errors[0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: issues.map(([location, message]) => ({ location, message })),
  });
});

test.each([
  ['a task', { before }],
  ['kinds of a task', { before, kinds: ['TASK_FAILED'] }],
])('accepts before with %s', async (_what, input) => {
  expect(await resolvedIds({ userId: 'alice', taskId: 'task', ...input })).toEqual([]);
});
