import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { routes } from '../../rest/router.ts';
import type { Caller, Given } from '../support/as.ts';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import type { PublishNotificationInput } from '../support/generated/types.ts';
import { notification, publish } from '../support/records.ts';
import { buildDocument, goodArguments, isSubscription } from '../support/root-fields.ts';
import { subscribe } from '../support/sse.ts';
import { signTaskToken } from '../support/tokens.ts';

/*
 * A runner in a workspace that executes untrusted code has the token of its task. Whatever it sends, it reads and changes
 * only the notifications of this task, and a flood of it neither slows down nor limits its user or other tasks. The
 * issuer made the worst choice of a subject: the user's ID.
 */

const TASKS = 5;
const READS = 20;
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
  const ofOthers = "not (user_id = 'alice' and task_id = 'own')";
  const tables = ['notification', 'task_resolution'].map((table) => `${table} t where ${ofOthers}`);
  const ofUsers = [
    'notification_preference',
    'editor_credential',
    'workspace',
    'contact',
    'push_subscription',
  ];
  const rows = [];
  for (const table of [...tables, ...ofUsers.map((table) => `${table} t`)])
    rows.push(await gateway.database.sql(`select to_jsonb(t)::text as row from ${table} order by 1`));
  return rows;
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
    const target = path.replace('{id}', 'other-task_failed');
    const reply = await rest(gateway, method.toUpperCase(), target, { token });
    expect([path, reply.status, reply.body?.code]).toEqual([path, 403, 'forbidden']);
  }
});

/** Publishes for the runner's task. */
const publishOwn = (given: Given<PublishNotificationInput> = {}) =>
  notification('alice', 'task_failed', { task: { id: 'own', projectId: 'p' }, ...given });
const publishing = (given: Given<PublishNotificationInput>) => (by: Caller) => by.publish(publishOwn(given));
const resolving = (given: object) => (by: Caller) =>
  by.resolve({ userId: 'alice', reason: 'TASK_DELETED', ...given });
const reading =
  (notificationId: string, userId = 'alice') =>
  (by: Caller) =>
    by.request({ userId, notificationId });
const acknowledging =
  (notificationId: string, userId = 'alice') =>
  (by: Caller) =>
    by.acknowledge({ userId, notificationId, outcome: 'ACCEPTED' });

/** IDs of records that the runner must not reach. */
const ids = [
  'other-plan_requested',
  'other-task_failed',
  'own:taken',
  'own:plan_requested',
  'own:task_failed',
];
const before = new Date().toISOString();

test.each<[what: string, attack: (by: Caller) => Promise<unknown>]>([
  ['publishes for another user', publishing({ userId: 'bob' })],
  ['publishes for another task', publishing({ task: { id: 'other', projectId: 'p' } })],
  ['publishes for a task whose ID is a list', publishing({ task: { id: ['own', 'other'], projectId: 'p' } })],
  ['takes the ID of a notification of another task', publishing({ id: 'other-plan_requested' })],
  ['takes such an ID that begins with its own task', publishing({ id: 'own:taken' })],
  ['links to a workspace', publishing({ task: { id: 'own', projectId: 'p', workspaceId: 'w-1' } })],
  ['resolves for another user', resolving({ userId: 'bob', taskId: 'own' })],
  ['resolves by ID for another user', resolving({ userId: 'bob', ids })],
  ['resolves another task', resolving({ taskId: 'other' })],
  ['resolves another task in advance', resolving({ taskId: 'other', before })],
  ['resolves by ID', resolving({ ids })],
  ['resolves by ID with another task', resolving({ ids, taskId: 'other' })],
  ['resolves all that have a tool ID', resolving({ toolId: 'tool-1' })],
  ['reads a request of another task', reading('other-plan_requested')],
  ['reads a request of another task whose ID begins with its own', reading('own:taken')],
  ['reads a request of another user', reading('own:plan_requested', 'bob')],
  ['acknowledges an answer of another task', acknowledging('other-plan_requested')],
  ['acknowledges an answer of another user', acknowledging('own:plan_requested', 'bob')],
  [
    'mixes its own task with others in one document',
    async (by) => {
      const resolve = (userId: string, taskId: string) =>
        `resolveNotifications(input: { userId: "${userId}", taskId: "${taskId}", reason: RESUMED }) {
           notifications { __typename } }`;
      const { data } = await by.graphql(`mutation {
        a: ${resolve('alice', 'own')} b: ${resolve('alice', 'other')} c: ${resolve('bob', 'own')}
        d: deleteUser(input: { userId: "bob" }) { deleted }
        e: dismissNotification(input: { id: "other-task_failed" }) { notification { __typename } }
      }`);
      return data;
    },
  ],
  [
    'reads by fragments and aliases',
    async (by) => {
      const { data } = await by.graphql(`{ ...F x: viewer { id notifications { totalCount } } }
        fragment F on Query {
          y: user(id: "bob") { id } z: platform { statistics { __typename } }
          notification(id: "other-task_failed") { __typename }
        }`);
      return data;
    },
  ],
])('a runner that %s changes nothing of others and reads nothing of them', async (_what, attack) => {
  const stored = await readOthers();

  const returned = await attack(gateway.as(async () => token)).catch(() => null);

  expect(await readOthers()).toEqual(stored);
  expect(JSON.stringify(returned)).not.toMatch(/other-|"other"|"third"|"id"/);
});

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
  const countOwn = async () => {
    const count = `select count(*)::int from notification where user_id = 'alice' and task_id = 'own'`;
    return Number((await gateway.database.sql(count))[0]?.count);
  };
  const before = await countOwn();
  const runner = limited.as(async () => token);
  const publish = `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }`;
  const resolve = `mutation { resolveNotifications(input: { userId: "alice", taskId: "own", reason: RESUMED }) {
    notifications { __typename } } }`;
  const attacks = [
    () => runner.graphql(publish, { input: publishOwn() }),
    () => runner.graphql('{ viewer { id } }'),
    () => runner.graphql('{'),
    () => runner.graphql('{ __schema { types { name fields { name description } } } }'),
    () => runner.graphql(resolve),
  ];
  const user = limited.as('alice');
  const readQuota = ({ status, headers }: { status: number; headers: Headers }) => [
    status,
    Number(headers.get('ratelimit-remaining')),
  ];
  const remaining: unknown[] = [];
  const readAsUser = async () => remaining.push(readQuota(await user.rest.get('/user/workspaces')));

  const [statuses] = await Promise.all([
    flood(FLOOD, async (index) => (await attacks[index % attacks.length]?.())?.status),
    readAsUser().then(readAsUser).then(readAsUser),
  ]);

  // A request counts once it was answered, so each of the other connections can exceed the limit once.
  expect(statuses.filter((status) => status !== 429).length).toBeLessThan(TASKS + CONNECTIONS);
  expect((await countOwn()) - before).toBeLessThanOrEqual(TASKS);
  expect(remaining).toEqual([1, 2, 3].map((read) => [200, READS - read]));

  const other = limited.as(() => signTaskToken('alice', 'other', { sub: 'alice' }));
  const input = publishOwn({ task: { id: 'other', projectId: 'p' } });
  expect(readQuota(await other.graphql(publish, { input }))).toEqual([200, TASKS - 1]);
});
