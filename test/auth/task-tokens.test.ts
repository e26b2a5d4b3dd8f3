import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { anonymous, identifyCaller, type Viewer } from '../../src/auth/viewer.ts';
import { createHub } from '../../src/live/hub.ts';
import { type Caller, type Given, refused } from '../support/as.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import type { PublishNotificationInput } from '../support/generated/types.ts';
import { notification } from '../support/records.ts';
import { platform, signTaskToken, signToken, TASK_CLAIMS } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;
const limits = {
  RATE_LIMIT_TASKS_PER_MINUTE: '3',
  RATE_LIMIT_READS_PER_MINUTE: '2',
  RATE_LIMIT_PLATFORM_PER_MINUTE: '2',
};
const limited = useGateway(limits, gateway);
/** Has no settings of the claims of tasks. */
const unconfigured = useGateway({ AUTH_TASK_USER_CLAIM: '', AUTH_TASK_CLAIM: '' }, gateway);

/** Returns a caller with a task token, by default of Alice's task "t". */
const taskOf = (
  taskId = 't',
  claims: Record<string, unknown> = {},
  of: TestGateway = gateway,
  userId = 'alice',
) => of.as(() => signTaskToken(userId, taskId, claims));

type Publication = Given<PublishNotificationInput> & { task?: Record<string, unknown> };
/** A plan of Alice's task "t". */
const plan = ({ task, ...given }: Publication = {}) =>
  notification('alice', 'plan_requested', { ...given, task: { id: 't', projectId: 'project-1', ...task } });
const PUBLISH = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created }
}`;
/** Publishes a plan, and returns the whole reply. */
const send = (by: Caller, given?: Publication) => by.graphql(PUBLISH, { input: plan(given) });
const resolve = async (by: Caller, given: object) => {
  const resolved = await by.resolve({ userId: 'alice', reason: 'RESUMED', ...given });
  return resolved.map(({ id }) => id);
};
const countStored = () => gateway.database.sql('select count(*) from notification');

describe('a token with the scope platform:task', () => {
  const combined = 'scope "platform:task": combined';
  const noTask = 'claim "task_id": not an ID';
  test.each<[claims: Record<string, unknown>, reason: string]>([
    [{ [TASK_CLAIMS.user]: null }, 'claim "task_user": not an ID'],
    [{ [TASK_CLAIMS.user]: '' }, 'claim "task_user": not an ID'],
    ...[null, '', 'a'.repeat(256), 'a\nb', '\ud800', 7, ['t'], { id: 't' }, true].map(
      (id): [Record<string, unknown>, string] => [{ [TASK_CLAIMS.task]: id }, noTask],
    ),
    [{ scope: 'platform:task account:read' }, combined],
  ])('is rejected with %j, and the reason is logged only', async (claims, reason) => {
    const logged = gateway.logLines().length;
    const replies = [await send(taskOf('t', claims)), await taskOf('t', claims).rest.get('/user/workspaces')];
    for (const { status, headers, text } of replies) {
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"']);
      expect(text).not.toContain('platform:task');
    }
    const lines = gateway.logLines().slice(logged);
    expect(lines.map((line) => JSON.parse(line).reason)).toContainEqual(expect.stringContaining(reason));
  });

  test('is rejected while the claims are not configured, as is one beside other scopes', async () => {
    for (const claims of [{}, { scope: 'platform:task account:read' }])
      expect((await send(taskOf('t', claims, unconfigured))).status).toBe(401);
  });

  test('the claims of tasks mean nothing in tokens with other scopes', async () => {
    const service = taskOf('t', { scope: 'platform:notifications' });
    expect(await service.publish(notification('bob'))).toMatchObject({ created: true });
  });
});

describe('publishing with a task token', () => {
  test.each<[what: string, given: Publication]>([
    ['another user', { userId: 'bob' }],
    ['another task', { task: { id: 'another' } }],
    ['a task whose ID differs in case', { task: { id: 'T' } }],
    ['a task whose ID begins with the same letters', { task: { id: 't:1' } }],
  ])('for %s is FORBIDDEN, and the message states what is allowed', async (_what, given) => {
    const before = await countStored();
    const { errors } = await send(taskOf(), given);
    expect(errors[0]).toMatchObject({
      message:
        'A token with the scope "platform:task" has access only to the notifications of user "alice", task "t".',
      extensions: { code: 'FORBIDDEN' },
    });
    expect(await countStored()).toEqual(before);
  });

  test('accepts IDs that begin with the percent-encoded task ID and a colon, which make retries safe', async () => {
    const task = { id: 'run/1: ü' };
    const id = 'run%2F1%3A%20%C3%BC:plan';
    for (const created of [true, false])
      expect(await taskOf(task.id).publish(plan({ id, task }))).toMatchObject({
        created,
        notification: { id },
      });
  });

  test.each([
    ...['plan', 't', 't-1', 'T:1', ':t:', 't%3A1', 'another:1', randomUUID()].map((id) => ['t', id, 't:']),
    ['t:1', 't:1:plan', 't%3A1:'],
  ])('of the task %s rejects the ID %s, which another task could use', async (taskId, id, prefix) => {
    const publishing = taskOf(taskId).publish(plan({ id, task: { id: taskId } }));
    const rule: [string, string] = ['input.id', `must begin with "${prefix}" for a task token`];
    await expect(publishing).rejects.toMatchObject(refused('VALIDATION_FAILED', rule));
  });

  test('rejects a workspace', async () => {
    const rule: [string, string] = ['input.task.workspaceId', 'must be omitted for a task token'];
    const publishing = taskOf().publish(plan({ id: 'plan', task: { workspaceId: 'w-1' } }));
    await expect(publishing).rejects.toMatchObject(refused('VALIDATION_FAILED', 'input.id', rule));
    expect(await taskOf().publish(plan({ task: { workspaceId: null } }))).toMatchObject({ created: true });
  });
});

describe('resolving with a task token', () => {
  const publishFor = async (userId: string, task: string, id: string = randomUUID()) => {
    await as(platform).publish(plan({ userId, id, task: { id: task, workspaceId: 'w-1' } }));
    return id;
  };

  test('resolves what the platform published for its task, and by ID ignores all others, whatever their IDs begin with', async () => {
    const task = randomUUID();
    const own = await publishFor('alice', task);
    const foreign = await publishFor('alice', randomUUID(), `${task}:plan`);
    const bobs = await publishFor('bob', task);

    expect(await resolve(taskOf(task), { ids: [foreign, bobs, own, 'unknown'] })).toEqual([own]);
    const published = await publishFor('alice', task);
    expect(await resolve(taskOf(task), { taskId: task })).toEqual([published]);
    expect(await resolve(as(platform), { ids: [foreign] })).toEqual([foreign]);
    expect(await resolve(as(platform), { userId: 'bob', ids: [bobs] })).toEqual([bobs]);
  });

  test.each([
    { userId: 'bob', taskId: 't' },
    { userId: 'bob', ids: ['t:plan'] },
    { taskId: 'another' },
    { taskId: 'another', before: '2026-01-01T00:00:00.000Z' },
    { taskId: 'another', ids: ['t:plan'] },
  ])('by %j is FORBIDDEN', async (given) => {
    await expect(resolve(taskOf(), given)).rejects.toMatchObject(refused('FORBIDDEN'));
  });

  test('returns neither the workspace nor the deliveries of its notifications', async () => {
    const task = randomUUID();
    const id = await publishFor('alice', task);
    const query = `mutation ($taskId: ID!) {
      resolveNotifications(input: { userId: "alice", taskId: $taskId, reason: RESUMED }) {
        notifications { ... on UserNotification { id deliveries { channel } task { id workspace { id } } } }
      }
    }`;
    const { data, errors } = await taskOf(task, { sub: 'alice' }).graphql(query, { taskId: task });

    const path = ['resolveNotifications', 'notifications', 0];
    expect(errors.map((error) => [error.extensions.code, error.path])).toEqual([
      ['FORBIDDEN', [...path, 'deliveries']],
      ['FORBIDDEN', [...path, 'task', 'workspace']],
    ]);
    expect(JSON.stringify(data)).not.toContain('channel');
    expect(await resolve(as(platform), { ids: [id] })).toEqual([]);
  });
});

describe('a request of a task token', () => {
  /** Publishes the plan of a new task, and returns a caller with its token. */
  async function publishPlan() {
    const task = { id: randomUUID() };
    const id = `${task.id}:plan`;
    const runner = taskOf(task.id);
    await runner.publish(plan({ id, task }));
    return { runner, id, request: { userId: 'alice', notificationId: id } };
  }
  const answer = (id: string) => ({ id, answerId: randomUUID(), plan: { decision: 'APPROVE' } });

  test('is awaited and acknowledged, by tokens of its task only', async () => {
    const { runner, id, request } = await publishPlan();
    const other = taskOf('another');
    const receipt = { ...request, outcome: 'ACCEPTED' };
    const awaited = runner.request({ ...request, waitSeconds: 55 });
    await as('alice').answer(answer(id));

    expect(await awaited).toMatchObject({ state: 'ANSWERED', answer: { plan: { decision: 'APPROVE' } } });
    await expect(other.request(request)).rejects.toMatchObject(refused('NOT_FOUND'));
    await expect(other.acknowledge(receipt)).rejects.toMatchObject(refused('NOT_FOUND'));
    await runner.acknowledge(receipt);
    expect((await runner.request(request)).receipt).toMatchObject({ outcome: 'ACCEPTED' });
  });

  test('is not found after its user was deleted and another task took its ID', async () => {
    const { runner, id, request } = await publishPlan();
    await as(platform).deleteUser({ userId: 'alice' });
    await as(platform).publish(plan({ id, task: { id: 'another' } }));
    await expect(runner.request(request)).rejects.toMatchObject(refused('NOT_FOUND'));
  });
});

const viewerOf = (userId: string, task?: Viewer['task']): Viewer => ({
  ...anonymous,
  userId,
  caller: identifyCaller(userId, task),
  ...(task && { task }),
});

describe('the limit of tasks', () => {
  const readQuota = ({ status, headers }: { status: number; headers: Headers }) => [
    status,
    headers.get('ratelimit-limit'),
    headers.get('ratelimit-remaining'),
  ];

  test('applies per user and task, whatever the subject and the token', async () => {
    const task = { id: randomUUID() };
    const replies = [];
    for (const claims of [{}, { sub: 'alice' }, { jti: '1' }, {}])
      replies.push(await send(taskOf(task.id, claims, limited), { task }));
    expect(replies.map(readQuota)).toEqual([
      [200, '3', '2'],
      [200, '3', '1'],
      [200, '3', '0'],
      [429, '3', '0'],
    ]);
    expect(replies[3]?.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);

    const overRest = await taskOf(randomUUID(), {}, limited).rest.get('/user/workspaces');
    expect(readQuota(overRest)).toEqual([403, '3', '2']);
    const ofBob = await send(taskOf(task.id, {}, limited, 'bob'), { userId: 'bob', task });
    const ofAnother = await send(taskOf('another', {}, limited), { task: { id: 'another' } });
    expect([ofBob.status, ofAnother.status]).toEqual([200, 200]);
  });

  test('counts each alias, and is separate from the limits of the subject', async () => {
    const user = randomUUID();
    const input = `{ userId: "${user}", taskId: "t", reason: RESUMED }`;
    const call = `resolveNotifications(input: ${input}) { notifications { __typename } }`;
    const aliases = [1, 2, 3, 4, 5].map((n) => `a${n}: ${call}`);
    const { data, errors } = await taskOf('t', { sub: user }, limited, user).graphql(
      `mutation { ${aliases} }`,
    );

    expect(Object.values(data).filter((value) => value !== null)).toHaveLength(3);
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
    const read = await limited.as(user).rest.get('/user/workspaces');
    const service = limited.as(() => signToken({ sub: user, scope: 'platform:notifications' }));
    const resolved = await service.graphql(`mutation { ${call} }`);
    expect([read, resolved].map(readQuota)).toEqual(Array(2).fill([200, '2', '1']));
  });

  test.each([
    ['a forbidden operation', '{ workspaces { totalCount } }', 200],
    ['an invalid document', '{ unknown }', 400],
    ['introspection', '{ __typename }', 200],
  ])('%s costs a point, and no request passes once none is left', async (_what, query, status) => {
    const runner = taskOf(randomUUID(), {}, limited);
    const replies = [];
    for (let count = 0; count < 4; count += 1) replies.push(await runner.graphql(query));
    expect(replies.map((reply) => reply.status)).toEqual([status, status, status, 429]);
    expect(replies.map(readQuota)[0]).toEqual([status, '3', '2']);
    expect((await send(runner)).status).toBe(429);
  });

  test('0 disables it and its headers', async () => {
    expect(readQuota(await send(taskOf()))).toEqual([200, null, null]);
  });
});

test('a task has at most 20 live streams, which limit neither its user nor other tasks', () => {
  const hub = createHub(1000);
  const join = (viewer: Viewer, isService = false) => {
    const ignore = () => undefined;
    const subscriber = { viewer, userId: 'alice', isService, wake: ignore, catchUp: ignore, fail: ignore };
    hub.join(subscriber);
    return subscriber;
  };
  const runner = viewerOf('alice', { userId: 'alice', taskId: 't' });
  const [first] = Array.from({ length: 20 }, () => join(runner));

  expect(() => join(viewerOf('another', runner.task))).toThrow('Too many open streams');
  join(viewerOf('alice'));
  join(viewerOf('alice', { userId: 'alice', taskId: 'another' }));
  join(viewerOf('alice', { userId: 'bob', taskId: 't' }));
  if (first !== undefined) hub.leave(first);
  join(runner);
  expect(() => join(runner)).toThrow('Too many open streams');

  const waits = Array.from({ length: 100 }, () => join(viewerOf('service'), true));
  join(viewerOf('service'));
  for (const wait of waits) hub.leave(wait);
  expect(hub.size).toBe(20 + 4);
});
