import { describe, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { asMember, asPlatform, type Kind, payloads, resolve, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();

const task = { id: 'task', projectId: 'project' };
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

type Input = { id?: string; task?: object; occurredAt?: string };

async function publish(userId: string, input: Input, kind: Kind = 'task_failed') {
  const { publishNotification } = await asPlatform(
    gateway,
    `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) {
      created notification { ... on UserNotification { id status resolution occurredAt createdAt resolvedAt } }
    } }`,
    { input: { userId, task, title: 'T', payload: payloads[kind], ...input } },
  );
  expect(publishNotification.created).toBe(true);
  return publishNotification.notification;
}

/** Returns the status and resolution of each of a user's notifications by ID. */
async function readStates(userId: string): Promise<Record<string, string>> {
  const rows = await gateway.database.sql(
    `select id, concat_ws(' ', status, resolution) as state from notification where user_id = $1 order by id`,
    [userId],
  );
  return Object.fromEntries(rows.map(({ id, state }) => [String(id), String(state)]));
}

const dismiss = (userId: string, id: string) =>
  asMember(
    gateway,
    userId,
    'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }',
    {
      id,
    },
  );

describe('a notification older than the latest of its task and kind', () => {
  test.each<[status: string, change: (user: string) => Promise<unknown>, state: string]>([
    ['active', async () => undefined, 'active'],
    ['dismissed', (user) => dismiss(user, 'newest'), 'dismissed'],
    ['resolved', (user) => resolve(gateway, user, task.id), 'resolved answered_elsewhere'],
  ])('is stored as superseded if the latest is %s, which does not change', async (status, change, state) => {
    const user = `late-${status}`;
    await publish(user, { id: 'newest', occurredAt: at(2) });
    await change(user);

    const late = await publish(user, { id: 'late', occurredAt: at(1) });

    expect(late).toMatchObject({ status: 'RESOLVED', resolution: 'SUPERSEDED', occurredAt: at(1) });
    expect(late.resolvedAt).toBe(late.createdAt);
    expect(await readStates(user)).toEqual({ late: 'resolved superseded', newest: state });
  });

  test('is sent as an event', async () => {
    const stream = await subscribeToNotifications(gateway, 'watched');
    await publish('watched', { id: 'newest', occurredAt: at(2) });
    await publish('watched', { id: 'late', occurredAt: at(1) });

    const events = [await nextEvent(stream), await nextEvent(stream)];
    expect(events.map(({ type, notification, counts }) => [type, notification.id, counts.total])).toEqual([
      ['CREATED', 'newest', 1],
      ['RESOLVED', 'late', 1],
    ]);
    stream.close();
  });
});

test('a notification with the same timestamp as the latest one supersedes it', async () => {
  await publish('equal', { id: 'first', occurredAt: at(1) });
  await publish('equal', { id: 'second', occurredAt: at(1) });
  expect(await readStates('equal')).toEqual({ first: 'resolved superseded', second: 'active' });
});

test('`occurredAt` defaults to now, or to that of the latest notification if that is later', async () => {
  const ahead = fromNow(120);
  await publish('absent', { id: 'ahead', occurredAt: ahead });
  expect(await publish('absent', { id: 'next' })).toMatchObject({ status: 'ACTIVE', occurredAt: ahead });
  const { occurredAt, createdAt } = await publish('absent-too', {});
  expect(occurredAt).toBe(createdAt);
});

test('notifications of another task, kind or user are independent', async () => {
  await publish('apart', { id: 'newest', occurredAt: at(9) });
  await publish('apart', { id: 'task', task: { ...task, id: 'other' }, occurredAt: at(1) });
  await publish('apart', { id: 'kind', occurredAt: at(1) }, 'plan_requested');
  await publish('apart-too', { id: 'user', occurredAt: at(1) });
  expect(await readStates('apart')).toEqual({ newest: 'active', task: 'active', kind: 'active' });
  expect(await readStates('apart-too')).toEqual({ user: 'active' });
});

describe('resolving with `before`', () => {
  test('resolves notifications that occurred until then', async () => {
    for (const [minute, kind] of (
      ['plan_requested', 'task_failed', 'question_requested'] as const
    ).entries()) {
      await publish('upto', { id: `at-${minute}`, occurredAt: at(minute) }, kind);
    }
    await resolve(gateway, 'upto', task.id, 'RESUMED', at(1));
    expect(await readStates('upto')).toEqual({
      'at-0': 'resolved resumed',
      'at-1': 'resolved resumed',
      'at-2': 'active',
    });
  });

  test('also applies to notifications of its task and kinds that are published later', async () => {
    await asPlatform(
      gateway,
      'mutation ($input: ResolveNotificationsInput!) { resolveNotifications(input: $input) { __typename } }',
      {
        input: {
          userId: 'later',
          taskId: task.id,
          kinds: ['TASK_FAILED'],
          reason: 'TASK_DELETED',
          before: at(5),
        },
      },
    );
    expect(await publish('later', { id: 'covered', occurredAt: at(5) })).toMatchObject({
      status: 'RESOLVED',
      resolution: 'TASK_DELETED',
    });
    await publish('later', { id: 'after', occurredAt: at(6) });
    await publish('later', { id: 'kind', occurredAt: at(5) }, 'plan_requested');
    await publish('later', { id: 'task', task: { ...task, id: 'other' }, occurredAt: at(5) });
    expect(await readStates('later')).toEqual({
      covered: 'resolved task_deleted',
      after: 'active',
      kind: 'active',
      task: 'active',
    });
  });

  test('an earlier `before` does not replace a later one', async () => {
    await resolve(gateway, 'latest', task.id, 'ANSWERED_ELSEWHERE', at(5));
    await resolve(gateway, 'latest', task.id, 'RESUMED', at(3));
    await publish('latest', { id: 'covered', occurredAt: at(4) });
    expect(await readStates('latest')).toEqual({ covered: 'resolved answered_elsewhere' });
  });

  test('is optional: without it, only active notifications are resolved', async () => {
    await publish('now', { id: 'first', occurredAt: at(1) });
    await resolve(gateway, 'now', task.id);
    await publish('now', { id: 'second', occurredAt: at(2) });
    expect(await readStates('now')).toEqual({ first: 'resolved answered_elsewhere', second: 'active' });
  });
});

const draft = { userId: 'ahead', task, title: 'T', payload: payloads.task_failed };
const futureInputs: [location: string, field: string, inputType: string, input: (time: string) => object][] =
  [
    [
      'input.occurredAt',
      'publishNotification',
      'PublishNotificationInput',
      (occurredAt) => ({ ...draft, occurredAt }),
    ],
    [
      'input.notifications[1].occurredAt',
      'publishNotifications',
      'PublishNotificationsInput',
      (occurredAt) => ({ notifications: [draft, { ...draft, occurredAt }] }),
    ],
    [
      'input.before',
      'resolveNotifications',
      'ResolveNotificationsInput',
      (before) => ({ userId: 'ahead', taskId: 'task', reason: 'ANSWERED_ELSEWHERE', before }),
    ],
    [
      'input.workspaces[0].updatedAt',
      'putWorkspaces',
      'PutWorkspacesInput',
      (updatedAt) => ({ userId: 'ahead', workspaces: [workspaceInput({ updatedAt })] }),
    ],
    [
      'input.deletedAt',
      'deleteWorkspace',
      'DeleteWorkspaceInput',
      (deletedAt) => ({ userId: 'ahead', id: '5f0c2f0e-0000-4000-8000-000000000001', deletedAt }),
    ],
  ];

test.each(futureInputs)(
  'rejects %s more than five minutes in the future',
  async (location, field, type, input) => {
    const send = async (seconds: number) => {
      const query = `mutation ($input: ${type}!) { ${field}(input: $input) { __typename } }`;
      const variables = { input: input(fromNow(seconds)) };
      return { variables, reply: await graphql(gateway, query, variables, { token: await platform() }) };
    };
    expect((await send(280)).reply.errors).toEqual([]);
    const { errors } = (await send(320)).reply;
    expect(errors.map(({ extensions }) => extensions)).toMatchObject([
      {
        code: 'VALIDATION_FAILED',
        errors: [{ location, message: 'must not be more than five minutes in the future' }],
      },
    ]);
  },
);
