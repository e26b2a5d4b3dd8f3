import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { routes } from '../../rest/router.ts';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { payloads, publish } from '../support/records.ts';
import { buildDocument, goodArguments, isSubscription } from '../support/root-fields.ts';
import { openStream, subscribe } from '../support/sse.ts';
import { member, platform, signTaskToken } from '../support/tokens.ts';

/*
 * A runner in a workspace that executes untrusted code has the token of its task. Whatever it sends, it reads and changes
 * only the notifications of this task, and a flood of it neither slows down nor limits its user or other tasks. The
 * issuer made the worst choice of a subject: the user's ID.
 */

const TASKS = 5;
const READS = 20;
const PLATFORM = 20;
/** The requests of a flood, and how many of them are open at once. */
const FLOOD = 300;
const CONNECTIONS = 10;

const gateway = useGateway();
let limited: TestGateway;
let token: string;
beforeAll(async () => {
  limited = await startTestGateway(
    {
      RATE_LIMIT_TASKS_PER_MINUTE: String(TASKS),
      RATE_LIMIT_READS_PER_MINUTE: String(READS),
      RATE_LIMIT_WRITES_PER_MINUTE: String(READS),
      RATE_LIMIT_PLATFORM_PER_MINUTE: String(PLATFORM),
    },
    gateway.database,
  );
  token = await signTaskToken('alice', 'own', { sub: 'alice', org_id: 'acme' });
});
afterAll(() => limited.close());

const task = (id: string) => ({ id, projectId: 'project-1', workspaceId: 'w-1' });

/** Creates records that the runner must not reach: other tasks of its user, and the same task ID of another user. */
beforeEach(async () => {
  const kinds = ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'] as const;
  for (const kind of kinds) {
    await publish(gateway, 'alice', kind, { id: `other-${kind}`, task: task('other') });
    await publish(gateway, 'bob', kind, { id: `own:${kind}`, task: task('own') });
  }
  await publish(gateway, 'alice', 'plan_requested', { id: 'own:taken', task: task('third') });
});

/** Everything stored except the notifications of the runner's task and what counts them. */
async function readOthers() {
  const { sql } = gateway.database;
  const notifications = await sql(
    "select to_jsonb(n) as row from notification n where not (user_id = 'alice' and task_id = 'own') order by user_id, id",
  );
  const resolutions = await sql(
    "select to_jsonb(r) as row from task_resolution r where not (user_id = 'alice' and task_id = 'own')",
  );
  const tables = [
    'notification_preference',
    'editor_credential',
    'workspace',
    'contact',
    'push_subscription',
  ];
  const rest = [];
  for (const table of tables) rest.push(await sql(`select to_jsonb(t) as row from ${table} t`));
  return [notifications, resolutions, rest];
}

const fields = Object.keys(goodArguments);

/** Calls a root field with valid arguments for a user, and returns the code of its error. */
async function call(name: string, userId: string): Promise<unknown> {
  const given = goodArguments[name]?.(userId) ?? {};
  const send = isSubscription(name) ? subscribe : graphql;
  const { errors } = await send(gateway, buildDocument(name, given), given, { token });
  return errors[0]?.extensions.code;
}

test.each(['alice', 'bob'])(
  'every root field is forbidden with the arguments of another task of %s',
  async (user) => {
    const before = await readOthers();

    const codes = new Map<string, unknown>();
    for (const name of fields) codes.set(name, await call(name, user));

    const byId = ['acknowledgeAnswer', 'request'];
    expect(fields.filter((name) => codes.get(name) !== 'FORBIDDEN').sort()).toEqual(
      user === 'alice' ? byId : [],
    );
    for (const name of byId) expect(codes.get(name)).toBe(user === 'alice' ? 'NOT_FOUND' : 'FORBIDDEN');
    expect(await readOthers()).toEqual(before);
  },
);

test('every path of the REST API is forbidden', async () => {
  for (const { method, path } of routes) {
    const reply = await rest(gateway, method.toUpperCase(), path.replace('{id}', 'other-task_failed'), {
      token,
    });
    expect([path, reply.status, reply.body?.code]).toEqual([path, 403, 'forbidden']);
  }
});

const publishOwn = (input: object) => ({
  query: `mutation ($input: PublishNotificationInput!) {
    publishNotification(input: $input) { created notification { ... on UserNotification { id task { id } } } }
  }`,
  variables: {
    input: {
      userId: 'alice',
      task: { id: 'own', projectId: 'p' },
      title: 'A title',
      payload: payloads.task_failed,
      ...input,
    },
  },
});
const resolveOwn = (input: object) => ({
  query: `mutation ($input: ResolveNotificationsInput!) {
    resolveNotifications(input: $input) { notifications { ... on UserNotification { id task { id } } } }
  }`,
  variables: { input: { userId: 'alice', reason: 'TASK_DELETED', ...input } },
});

const readRequest = (notificationId: string, userId = 'alice') => ({
  query:
    'query ($userId: ID!, $notificationId: ID!) { request(userId: $userId, notificationId: $notificationId) { state } }',
  variables: { userId, notificationId },
});
const acknowledge = (notificationId: string, userId = 'alice') => ({
  query:
    'mutation ($input: AcknowledgeAnswerInput!) { acknowledgeAnswer(input: $input) { notification { __typename } } }',
  variables: { input: { userId, notificationId, outcome: 'ACCEPTED' } },
});

/** IDs of records that the runner must not reach. */
const others = [
  'other-plan_requested',
  'other-task_failed',
  'own:taken',
  'own:plan_requested',
  'own:task_failed',
];

test.each<[what: string, request: { query: string; variables?: object }]>([
  ['publishes for another user', publishOwn({ userId: 'bob' })],
  ['publishes for another task', publishOwn({ task: { id: 'other', projectId: 'p' } })],
  ['publishes for a task whose ID is a list', publishOwn({ task: { id: ['own', 'other'], projectId: 'p' } })],
  ['takes the ID of a notification of another task', publishOwn({ id: 'other-plan_requested' })],
  [
    'takes an ID that begins with its own task, of a notification of another task',
    publishOwn({ id: 'own:taken' }),
  ],
  ['links to a workspace', publishOwn({ task: { id: 'own', projectId: 'p', workspaceId: 'w-1' } })],
  ['resolves for another user', resolveOwn({ userId: 'bob', taskId: 'own' })],
  ['resolves by ID for another user', resolveOwn({ userId: 'bob', ids: others })],
  ['resolves another task', resolveOwn({ taskId: 'other' })],
  ['resolves another task in advance', resolveOwn({ taskId: 'other', before: new Date().toISOString() })],
  ['resolves by ID', resolveOwn({ ids: others })],
  ['resolves by ID with another task', resolveOwn({ ids: others, taskId: 'other' })],
  ['reads a request of another task', readRequest('other-plan_requested')],
  ['reads a request of another task whose ID begins with its own', readRequest('own:taken')],
  ['reads a request of another user', readRequest('own:plan_requested', 'bob')],
  ['acknowledges an answer of another task', acknowledge('other-plan_requested')],
  ['acknowledges an answer of another user', acknowledge('own:plan_requested', 'bob')],
  ['resolves all that have a tool ID', resolveOwn({ toolId: 'tool-1' })],
  [
    'mixes its own task with others in one document',
    {
      query: `mutation {
        a: resolveNotifications(input: { userId: "alice", taskId: "own", reason: RESUMED }) { notifications { __typename } }
        b: resolveNotifications(input: { userId: "alice", taskId: "other", reason: RESUMED }) { notifications { __typename } }
        c: resolveNotifications(input: { userId: "bob", taskId: "own", reason: RESUMED }) { notifications { __typename } }
        d: deleteUser(input: { userId: "bob" }) { deleted }
        e: dismissNotification(input: { id: "other-task_failed" }) { notification { __typename } }
      }`,
    },
  ],
  [
    'reads by fragments and aliases',
    {
      query: `{ ...F x: viewer { id notifications { totalCount } } } fragment F on Query {
        y: user(id: "bob") { id } z: platform { statistics { __typename } } notification(id: "other-task_failed") { __typename }
      }`,
    },
  ],
])(
  'a runner that %s changes nothing of others and reads nothing of them',
  async (_what, { query, variables }) => {
    const before = await readOthers();

    const { text, errors, data } = await graphql(gateway, query, { ...variables }, { token });

    expect(await readOthers()).toEqual(before);
    for (const id of ['other-', '"other"', '"third"']) expect(JSON.stringify(data ?? null)).not.toContain(id);
    if (errors.length === 0) expect(JSON.parse(text).data.resolveNotifications.notifications).toEqual([]);
  },
);

/** Runs requests, of which so many are open at once, and returns their results. */
async function flood<Result>(count: number, send: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const run = async () => {
    while (next < count) {
      next += 1;
      results.push(await send(next));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  return results;
}

test('a flood is limited to the points of the task, and limits neither the user nor other tasks', async () => {
  const counted =
    "select count(*)::int as count from notification where user_id = 'alice' and task_id = 'own'";
  const countOwn = async () => Number((await gateway.database.sql(counted))[0]?.count);
  const before = await countOwn();
  const attacks: { query: string; variables?: Record<string, unknown> }[] = [
    publishOwn({}),
    { query: '{ viewer { id } }' },
    { query: '{' },
    { query: '{ __schema { types { name fields { name description } } } }' },
    resolveOwn({ taskId: 'own' }),
  ];
  const user = await member('alice');
  const remaining: unknown[] = [];
  const readAsUser = async () => {
    const reply = await rest(limited, 'GET', '/user/workspaces', { token: user });
    remaining.push(reply.status, Number(reply.headers.get('ratelimit-remaining')));
  };

  const [statuses] = await Promise.all([
    flood(FLOOD, async (index) => {
      const { query = '', variables } = attacks[index % attacks.length] ?? {};
      return (await graphql(limited, query, variables, { token })).status;
    }),
    readAsUser().then(readAsUser).then(readAsUser),
  ]);

  // A request counts once it was answered, so each of the other connections can exceed the limit once.
  expect(statuses.filter((status) => status !== 429).length).toBeLessThan(TASKS + CONNECTIONS);
  expect((await countOwn()) - before).toBeLessThanOrEqual(TASKS);
  expect(remaining).toEqual([200, READS - 1, 200, READS - 2, 200, READS - 3]);

  const dismissed = await rest(limited, 'POST', '/user/notifications/other-task_failed/dismiss', {
    token: user,
  });
  expect([dismissed.status, dismissed.headers.get('ratelimit-remaining')]).toEqual([200, String(READS - 1)]);
  const stream = await openStream(
    limited,
    'subscription { notificationEvents { __typename } }',
    {},
    { token: user },
  );
  stream.close();
  const other = await signTaskToken('alice', 'other', { sub: 'alice' });
  const { query, variables } = publishOwn({ task: { id: 'other', projectId: 'p' } });
  const published = await graphql(limited, query, variables, { token: other });
  expect([published.status, published.headers.get('ratelimit-remaining')]).toEqual([200, String(TASKS - 1)]);
  const service = await graphql(limited, query, variables, { token: await platform() });
  expect([service.status, service.headers.get('ratelimit-remaining')]).toEqual([200, String(PLATFORM - 1)]);
});
