import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireOwnTask } from '../../src/auth/access.ts';
import { identifyCaller, type Viewer } from '../../src/auth/viewer.ts';
import { NotFoundError } from '../../src/errors/gateway-errors.ts';
import { createHub, type Subscriber } from '../../src/live/hub.ts';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { payloads, publish as publishAsPlatform } from '../support/records.ts';
import { member, platform, signTaskToken, signToken, TASK_CLAIMS } from '../support/tokens.ts';

/** Points of a task. */
const TASKS = 3;

const gateway = useGateway();
let limited: TestGateway;
let unconfigured: TestGateway;
beforeAll(async () => {
  limited = await startTestGateway(
    {
      RATE_LIMIT_TASKS_PER_MINUTE: String(TASKS),
      RATE_LIMIT_READS_PER_MINUTE: '2',
      RATE_LIMIT_PLATFORM_PER_MINUTE: '2',
    },
    gateway.database,
  );
  unconfigured = await startTestGateway({ AUTH_TASK_USER_CLAIM: '', AUTH_TASK_CLAIM: '' }, gateway.database);
});
afterAll(async () => {
  await unconfigured.close();
  await limited.close();
});

/** The fields of a returned notification that task tokens may select. */
const FIELDS = '... on UserNotification { id userId status resolution task { id workspaceId } }';
const PUBLISH = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created notification { ${FIELDS} } }
}`;
const RESOLVE = `mutation ($input: ResolveNotificationsInput!) {
  resolveNotifications(input: $input) { notifications { ${FIELDS} } }
}`;

type Publication = Record<string, unknown> & { task?: Record<string, unknown> };

/** Publishes with a token, by default a plan of Alice's task "t". */
function publish(token: string, { task, ...input }: Publication = {}, of: { address: string } = gateway) {
  const complete = {
    userId: 'alice',
    title: 'A title',
    payload: payloads.plan_requested,
    task: { id: 't', projectId: 'project-1', ...task },
    ...input,
  };
  return graphql(of, PUBLISH, { input: complete }, { token });
}

const resolve = (token: string, input: object, query = RESOLVE) =>
  graphql(gateway, query, { input: { userId: 'alice', reason: 'RESUMED', ...input } }, { token });

/** Returns the IDs of what `resolve` resolved. */
const resolvedIds = async (...request: Parameters<typeof resolve>): Promise<string[]> => {
  const { data } = await resolve(...request);
  return data.resolveNotifications.notifications.map(({ id }: { id: string }) => id);
};

const countStored = async () => {
  const rows = await gateway.database.sql('select count(*)::int as count from notification');
  return rows[0]?.count;
};

const readQuota = ({ headers }: { headers: Headers }) =>
  ['ratelimit-limit', 'ratelimit-remaining'].map((name) => headers.get(name));

describe('a token with the scope platform:task', () => {
  test.each<[what: string, claims: Record<string, unknown>, reason: string]>([
    ['without the claim of the user', { [TASK_CLAIMS.user]: null }, 'claim "task_user": not an ID'],
    ['without the claim of the task', { [TASK_CLAIMS.task]: null }, 'claim "task_id": not an ID'],
    ...['', 'a'.repeat(256), 'a\nb', '\ud800', 7, ['t'], { id: 't' }, true].map(
      (id): [string, Record<string, unknown>, string] => [
        `with the task ID ${JSON.stringify(id).slice(0, 20)}`,
        { [TASK_CLAIMS.task]: id },
        'claim "task_id": not an ID',
      ],
    ),
    ['with an empty user ID', { [TASK_CLAIMS.user]: '' }, 'claim "task_user": not an ID'],
    ...['account:read', 'account:write', 'platform:write', 'platform:read', 'platform:unknown'].map(
      (scope): [string, Record<string, unknown>, string] => [
        `beside ${scope}`,
        { scope: `platform:task ${scope}` },
        'scope "platform:task": combined with another scope',
      ],
    ),
    ['beside a scope in another claim', { scp: ['account:read'] }, 'scope "platform:task": combined'],
  ])('is rejected %s, and the reason is logged only', async (_what, claims, reason) => {
    const logged = gateway.logLines().length;
    const token = await signTaskToken('alice', 't', claims);

    const replies = [await publish(token), await rest(gateway, 'GET', '/user/workspaces', { token })];

    expect(replies.map(({ status }) => status)).toEqual([401, 401]);
    expect(replies[0]?.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    for (const { text } of replies) expect(text).not.toContain('platform:task');
    const lines = gateway
      .logLines()
      .slice(logged)
      .map((line): unknown => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ reason: expect.stringContaining(reason) }));
  });

  test('is rejected while the claims are not configured, as is one beside other scopes', async () => {
    const token = await signTaskToken('alice', 't');
    const other = await signTaskToken('alice', 't', { scope: 'platform:task account:read' });

    const replies = [await publish(token, {}, unconfigured), await publish(other, {}, unconfigured)];

    expect(replies.map(({ status }) => status)).toEqual([401, 401]);
  });

  test.each(['openid profile platform:task', ['platform:task', 'orders:read']])(
    'is accepted with the scopes %j, also of other APIs',
    async (scope) => {
      const { data } = await publish(await signTaskToken('alice', 't', { scope }));

      expect(data.publishNotification.notification).toMatchObject({ userId: 'alice', task: { id: 't' } });
    },
  );

  test('the claims of tasks mean nothing in tokens with other scopes', async () => {
    const token = await signTaskToken('alice', 't', { scope: 'platform:notifications' });

    const { data } = await publish(token, { userId: 'bob', task: { id: 'another' } });

    expect(data.publishNotification.notification).toMatchObject({ userId: 'bob', task: { id: 'another' } });
  });
});

describe('publishing with a task token', () => {
  test.each([
    ['another user', { userId: 'bob' }],
    ['another task', { task: { id: 'another' } }],
    ['a task whose ID differs in case', { task: { id: 'T' } }],
    ['a task whose ID begins with the same letters', { task: { id: 't:1' } }],
  ])('for %s is FORBIDDEN, and the message states what is allowed', async (_what, input) => {
    const token = await signTaskToken('alice', 't');
    const before = await countStored();

    const { errors } = await publish(token, input);

    expect(errors[0].extensions.code).toBe('FORBIDDEN');
    expect(errors[0].message).toBe(
      'A token with the scope "platform:task" has access only to the notifications of user "alice", task "t".',
    );
    expect(await countStored()).toBe(before);
  });

  test('several at once is FORBIDDEN, even for its own task', async () => {
    const token = await signTaskToken('alice', 't');
    const query =
      'mutation ($input: PublishNotificationsInput!) { publishNotifications(input: $input) { results { created } } }';
    const task = { id: 't', projectId: 'p' };
    const notification = { userId: 'alice', title: 'A title', payload: payloads.task_failed, task };

    const { errors } = await graphql(gateway, query, { input: { notifications: [notification] } }, { token });

    expect(errors[0].extensions.code).toBe('FORBIDDEN');
    expect(errors[0].message).toBe(
      'A token with the scope "platform:task" may only use operations whose description names it.',
    );
  });

  test('accepts IDs that begin with the percent-encoded task ID and a colon, which make retries safe', async () => {
    const task = { id: 'run/1: ü' };
    const token = await signTaskToken('alice', task.id);
    const id = 'run%2F1%3A%20%C3%BC:plan';

    const replies = [await publish(token, { id, task }), await publish(token, { id, task })];

    expect(replies.map(({ data }) => data.publishNotification)).toEqual([
      { created: true, notification: expect.objectContaining({ id }) },
      { created: false, notification: expect.objectContaining({ id }) },
    ]);
  });

  test.each(['plan', 't', 't-1', 'T:1', ':t:', 't%3A1', 'another:1', randomUUID()])(
    'rejects the ID %s, which another task could use',
    async (id) => {
      const { errors } = await publish(await signTaskToken('alice', 't'), { id });

      expect(errors[0].extensions).toEqual({
        code: 'VALIDATION_FAILED',
        errors: [{ location: 'input.id', message: 'must begin with "t:" for a task token', value: id }],
      });
    },
  );

  test('an ID of a task that contains a colon is none of the task before the colon', async () => {
    const { errors } = await publish(await signTaskToken('alice', 't:1'), {
      id: 't:1:plan',
      task: { id: 't:1' },
    });

    expect(errors[0].extensions.errors).toMatchObject([
      { location: 'input.id', message: 'must begin with "t%3A1:" for a task token' },
    ]);
  });

  test('rejects a workspace', async () => {
    const token = await signTaskToken('alice', 't');

    const { errors } = await publish(token, { id: 'plan', task: { workspaceId: 'w-1' } });
    const without = await publish(token, { task: { workspaceId: null } });

    expect(errors[0].extensions.errors).toEqual([
      { location: 'input.id', message: 'must begin with "t:" for a task token', value: 'plan' },
      { location: 'input.task.workspaceId', message: 'must be omitted for a task token', value: 'w-1' },
    ]);
    expect(without.data.publishNotification.created).toBe(true);
  });

  test('supersedes the notification of its task and kind only', async () => {
    const [own, other] = [randomUUID(), randomUUID()];
    const input = { projectId: 'project-1' };
    await publishAsPlatform(gateway, 'alice', 'plan_requested', { id: own, task: { ...input, id: own } });
    await publishAsPlatform(gateway, 'alice', 'plan_requested', { id: other, task: { ...input, id: other } });

    await publish(await signTaskToken('alice', own), { task: { id: own } });

    const rows = await gateway.database.sql(
      'select id, status from notification where id = any($1) order by status',
      [[own, other]],
    );
    expect(rows).toEqual([
      { id: other, status: 'active' },
      { id: own, status: 'resolved' },
    ]);
  });
});

describe('resolving with a task token', () => {
  const publishFor = async (userId: string, task: string, id: string = randomUUID()) => {
    await publishAsPlatform(gateway, userId, 'plan_requested', {
      id,
      task: { id: task, projectId: 'project-1', workspaceId: 'w-1' },
    });
    return id;
  };

  test('resolves the notifications of its task, including those that the platform published', async () => {
    const task = randomUUID();
    const id = await publishFor('alice', task);

    expect(await resolvedIds(await signTaskToken('alice', task), { taskId: task })).toEqual([id]);
  });

  test('by ID resolves those of its task and ignores all others, whatever their IDs begin with', async () => {
    const [task, other] = [randomUUID(), randomUUID()];
    const own = await publishFor('alice', task);
    const foreign = await publishFor('alice', other, `${task}:plan`);
    const bobs = await publishFor('bob', task);
    const ids = [foreign, bobs, own, 'unknown'];

    expect(await resolvedIds(await signTaskToken('alice', task), { ids })).toEqual([own]);
    expect(await resolvedIds(await platform(), { ids: [foreign] })).toEqual([foreign]);
    expect(await resolvedIds(await platform(), { userId: 'bob', ids: [bobs] })).toEqual([bobs]);
  });

  test.each([
    ['another user', { userId: 'bob', taskId: 't' }],
    ['another user by ID', { userId: 'bob', ids: ['t:plan'] }],
    ['another task', { taskId: 'another' }],
    ['another task up to a time', { taskId: 'another', before: '2026-01-01T00:00:00.000Z' }],
    ['another task and IDs', { taskId: 'another', ids: ['t:plan'] }],
  ])('of %s is FORBIDDEN', async (_what, input) => {
    const { errors } = await resolve(await signTaskToken('alice', 't'), input);

    expect(errors[0].extensions.code).toBe('FORBIDDEN');
  });

  test('returns neither the workspace nor the deliveries of its notifications', async () => {
    const task = randomUUID();
    const id = await publishFor('alice', task);
    const query = `mutation ($input: ResolveNotificationsInput!) {
      resolveNotifications(input: $input) {
        notifications {
          ... on UserNotification { id deliveries { channel } task { id workspace { id } } }
        }
      }
    }`;
    const token = await signTaskToken('alice', task, { sub: 'alice' });

    const { data, errors } = await resolve(token, { taskId: task }, query);

    const path = ['resolveNotifications', 'notifications', 0];
    expect(errors.map((error) => [error.extensions.code, error.path])).toEqual([
      ['FORBIDDEN', [...path, 'deliveries']],
      ['FORBIDDEN', [...path, 'task', 'workspace']],
    ]);
    expect(JSON.stringify(data)).not.toContain('channel');
    expect(await resolvedIds(await platform(), { ids: [id] })).toEqual([]);
  });
});

describe('a request of a task token', () => {
  const AWAIT = `query ($id: ID!, $wait: Int) {
    request(userId: "alice", notificationId: $id, waitSeconds: $wait) { state answer { plan { decision } } receipt { outcome } }
  }`;
  const ANSWER =
    'mutation ($input: AnswerNotificationInput!) { answerNotification(input: $input) { __typename } }';
  const ACKNOWLEDGE = `mutation ($input: AcknowledgeAnswerInput!) {
    acknowledgeAnswer(input: $input) { notification { ... on UserNotification { id deliveries { channel } } } }
  }`;
  const acknowledge = (token: string, notificationId: string) =>
    graphql(
      gateway,
      ACKNOWLEDGE,
      { input: { userId: 'alice', notificationId, outcome: 'ACCEPTED' } },
      { token },
    );
  /** Publishes the plan of a new task, and returns its token and ID. */
  async function publishPlan() {
    const task = { id: randomUUID() };
    const token = await signTaskToken('alice', task.id);
    const { data } = await publish(token, { task });
    return { token, task, id: data.publishNotification.notification.id };
  }

  test('is awaited and acknowledged, by tokens of its task only', async () => {
    const { token, id } = await publishPlan();
    const other = await signTaskToken('alice', 'another');
    const awaited = graphql(gateway, AWAIT, { id, wait: 55 }, { token });
    const input = { id, answerId: randomUUID(), plan: { decision: 'APPROVE' } };
    const answered = await graphql(gateway, ANSWER, { input }, { token: await member('alice') });

    const refused = [
      await graphql(gateway, AWAIT, { id, wait: 55 }, { token: other }),
      await acknowledge(other, id),
    ];
    const acknowledged = await acknowledge(token, id);

    expect(answered.data.answerNotification.__typename).toBe('AnswerStored');
    expect((await awaited).data.request).toMatchObject({
      state: 'ANSWERED',
      answer: { plan: { decision: 'APPROVE' } },
    });
    expect(refused.map(({ errors }) => errors[0].extensions.code)).toEqual(['NOT_FOUND', 'NOT_FOUND']);
    expect(acknowledged.errors.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN']);
    expect((await graphql(gateway, AWAIT, { id }, { token })).data.request.receipt).toEqual({
      outcome: 'ACCEPTED',
    });
  });

  test('can be neither answered, dismissed nor restored by it', async () => {
    const { token, id } = await publishPlan();
    const answer = { id, answerId: randomUUID(), plan: { decision: 'APPROVE' } };
    const query = `mutation ($answer: AnswerNotificationInput!, $id: ID!) {
      a: answerNotification(input: $answer) { __typename }
      b: dismissNotification(input: { id: $id }) { notification { __typename } }
      c: restoreNotification(input: { id: $id }) { notification { __typename } }
    }`;

    const { errors } = await graphql(gateway, query, { answer, id }, { token });

    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN']);
    expect((await graphql(gateway, AWAIT, { id }, { token })).data.request.state).toBe('OPEN');
  });

  test('is not found after its user was deleted and another task took its ID', async () => {
    const task = { id: randomUUID() };
    const id = `${task.id}:plan`;
    const token = await signTaskToken('alice', task.id);
    await publish(token, { id, task });
    const deletion = 'mutation { deleteUser(input: { userId: "alice" }) { deleted } }';

    await graphql(gateway, deletion, {}, { token: await platform() });
    await publishAsPlatform(gateway, 'alice', 'plan_requested', { id });

    expect((await graphql(gateway, AWAIT, { id }, { token })).errors[0].extensions.code).toBe('NOT_FOUND');
  });
});

test.each<[what: string, viewer: Pick<Viewer, 'task'>, isAllowed: boolean]>([
  ['its task token', { task: { userId: 'alice', taskId: 't' } }, true],
  ['a task token of another task', { task: { userId: 'alice', taskId: 'another' } }, false],
  ["a task token of another user's task with the same ID", { task: { userId: 'bob', taskId: 't' } }, false],
  ['another token', {}, true],
])('requireOwnTask allows %s access to a record: %s', (_what, { task }, isAllowed) => {
  const check = () => requireOwnTask(createViewer('runner', task), { userId: 'alice', taskId: 't' });

  if (isAllowed) expect(check).not.toThrow();
  else expect(check).toThrow(NotFoundError);
});

describe('the limit of tasks', () => {
  test('applies per user and task, whatever the subject and the token', async () => {
    const task = { id: randomUUID() };
    const send = (claims: object) =>
      signTaskToken('alice', task.id, { ...claims }).then((token) => publish(token, { task }, limited));

    const replies = [await send({}), await send({ sub: 'alice' }), await send({ jti: '1' }), await send({})];

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(replies.map(readQuota)).toEqual([
      ['3', '2'],
      ['3', '1'],
      ['3', '0'],
      ['3', '0'],
    ]);
    expect(replies[3]?.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    const others = [
      await publish(await signTaskToken('bob', task.id), { userId: 'bob', task }, limited),
      await publish(await signTaskToken('alice', 'another'), { task: { id: 'another' } }, limited),
    ];
    expect(others.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('counts each alias, and is separate from the limits of the subject', async () => {
    const user = randomUUID();
    const input = `{ userId: "${user}", taskId: "t", reason: RESUMED }`;
    const call = `resolveNotifications(input: ${input}) { notifications { __typename } }`;
    const query = `mutation { ${[1, 2, 3, 4, 5].map((n) => `a${n}: ${call}`).join(' ')} }`;
    const token = await signTaskToken(user, 't', { sub: user });

    const { data, errors } = await graphql(limited, query, {}, { token });

    expect(Object.values(data).filter((value) => value !== null)).toHaveLength(TASKS);
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
    const read = await rest(limited, 'GET', '/user/workspaces', { token: await member(user) });
    const asService = await signToken({ sub: user, scope: 'platform:notifications' });
    const resolved = await graphql(limited, `mutation { ${call} }`, {}, { token: asService });
    expect([read, resolved].map(readQuota)).toEqual([
      ['2', '1'],
      ['2', '1'],
    ]);
  });

  test.each<[what: string, send: (token: string) => Promise<{ status: number; headers: Headers }>, number]>([
    [
      'a forbidden operation',
      (token) => graphql(limited, '{ workspaces { totalCount } }', {}, { token }),
      200,
    ],
    ['an invalid document', (token) => graphql(limited, '{ unknown }', {}, { token }), 400],
    ['introspection', (token) => graphql(limited, '{ __typename }', {}, { token }), 200],
  ])('%s costs a point, and no request passes once none is left', async (_what, send, status) => {
    const token = await signTaskToken('alice', randomUUID());

    const replies = [await send(token), await send(token), await send(token), await send(token)];

    expect(replies.map((reply) => reply.status)).toEqual([status, status, status, 429]);
    expect(replies.map(readQuota)[0]).toEqual(['3', '2']);
    expect((await publish(token, {}, limited)).status).toBe(429);
  });

  test('REST paths are forbidden and cost a point', async () => {
    const token = await signTaskToken('alice', randomUUID());

    const reply = await rest(limited, 'GET', '/user/workspaces', { token });

    expect([reply.status, ...readQuota(reply)]).toEqual([403, '3', '2']);
  });

  test('0 disables it and its headers', async () => {
    const reply = await publish(await signTaskToken('alice', 't'));

    expect([reply.status, ...readQuota(reply)]).toEqual([200, null, null]);
  });
});

/** Creates the viewer of a token. */
function createViewer(userId: string, task?: Viewer['task']): Viewer {
  const caller = identifyCaller(userId, task);
  return {
    userId,
    caller,
    scopes: new Set(),
    isMember: false,
    expiresAt: 0,
    signedBy: '',
    ...(task && { task }),
  };
}

test('a task has at most 20 live streams, which limit neither its user nor other tasks', () => {
  const hub = createHub(1000);
  const join = (viewer: Viewer, isService = false) => {
    const ignore = () => undefined;
    const subscriber: Subscriber = {
      viewer,
      userId: 'alice',
      isService,
      wake: ignore,
      catchUp: ignore,
      fail: ignore,
    };
    hub.join(subscriber);
    return subscriber;
  };
  const runner = createViewer('alice', { userId: 'alice', taskId: 't' });
  const opened = Array.from({ length: 20 }, () => join(runner));

  expect(() => join(createViewer('another', runner.task))).toThrow('Too many open streams');
  join(createViewer('alice'));
  join(createViewer('alice', { userId: 'alice', taskId: 'another' }));
  join(createViewer('alice', { userId: 'bob', taskId: 't' }));
  for (const subscriber of opened.slice(0, 1)) hub.leave(subscriber);
  join(runner);
  expect(() => join(runner)).toThrow('Too many open streams');

  const waits = Array.from({ length: 100 }, () => join(createViewer('service'), true));
  join(createViewer('service'));
  for (const wait of waits) hub.leave(wait);
  expect(hub.size).toBe(opened.length + 4);
});
