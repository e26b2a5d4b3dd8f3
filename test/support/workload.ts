import fc from 'fast-check';
import { expect } from 'vitest';
import type { Caller } from './as.ts';
import type { TestGateway } from './gateway.ts';
import { notification, workspaceInput } from './records.ts';
import { platform } from './tokens.ts';

/*
 * Concurrent changes of the records of a few users. The documents select only what the latest release has too, because
 * the test of the upgrade sends them to it.
 */

const tasks = ['task-1', 'task-2'] as const;
const kinds = ['plan_requested', 'task_failed'] as const;

const user = fc.nat(2);
/** Hours since the start of a year. The operation's index makes every timestamp unique. */
const hour = fc.nat(20);
const what = <Name extends string>(name: Name) => fc.constant(name);
const task = fc.constantFrom(...tasks);
const kind = fc.constantFrom(...kinds);
const flags = fc.record({ email: fc.boolean(), push: fc.boolean(), chat: fc.boolean() });

/** A change by or for one of three users. */
export const operations = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: what('publish'), user, task, kind, hour, isBatch: fc.boolean() }),
  },
  fc.record({ what: what('publishAgain'), user, which: fc.nat(20) }),
  fc.record({ what: what('resolve'), user, task, before: fc.option(hour, { nil: undefined }) }),
  fc.record({ what: what('dismiss'), user, which: fc.array(fc.nat(20), { maxLength: 3 }) }),
  fc.record({ what: what('updatePreferences'), user, kind: fc.option(kind), flags }),
  fc.record({ what: fc.constantFrom('store', 'refresh', 'report', 'deleteCredential'), user }),
  fc.record({ what: what('putWorkspaces'), user, hours: fc.tuple(hour, hour) }),
  fc.record({ what: what('deleteWorkspace'), user, which: fc.nat(1), hour }),
);
export type Operation =
  | (typeof operations extends fc.Arbitrary<infer Value> ? Value : never)
  | { what: 'deleteUser'; user: number };
type OperationOf<What extends Operation['what']> = Extract<Operation, { what: What }>;

/** A notification whose publication was sent, successfully or not. */
type Published = { userId: string; id: string; task: string; kind: (typeof kinds)[number]; time: string };

/** The operations on a user's records, and their results. */
type Account = {
  published: Published[];
  created: string[];
  resolutions: { task: string; before: string | undefined }[];
  resolved: string[];
  dismissed: string[];
  preferences: unknown[];
  versions: string[];
  refreshedFrom: string[];
  puts: { id: string; time: string }[];
  deletions: { id: string; time: string }[];
};

/** Changes that were sent at once. */
export type Workload = {
  users: readonly string[];
  database: TestGateway['database'];
  account(user: string): Account;
};

/** An operation that runs, at one of the gateways. */
type Step = { index: number; userId: string; account: Account; service: Caller; member: Caller };

/** Runs all operations at once, each at one of the gateways and for one of three users, whose names begin with `name`. */
export async function runWorkload(
  gateways: readonly TestGateway[],
  name: string,
  sequence: readonly Operation[],
): Promise<Workload> {
  const users = [1, 2, 3].map((number) => `${name}-${number}`);
  const accounts = new Map(users.map((userId) => [userId, emptyAccount()]));
  const account = (userId: string) => accounts.get(userId) ?? expect.unreachable(userId);
  const gatewayOf = (index: number) => gateways[index % gateways.length] ?? expect.unreachable('no gateway');
  const working = sequence.map((operation, index) => {
    const userId = users[operation.user] ?? '';
    const { as } = gatewayOf(index);
    const step = { index, userId, account: account(userId), service: as(platform), member: as(userId) };
    if (operation.what !== 'publish') return run(step, operation);
    const other = users[(operation.user + 1 + (index % 2)) % 3] ?? '';
    return publish(step, operation, { userId: other, account: account(other) });
  });
  await Promise.all(working);
  return { users, database: gatewayOf(0).database, account };
}

const emptyAccount = (): Account => ({
  published: [],
  created: [],
  resolutions: [],
  resolved: [],
  dismissed: [],
  preferences: [],
  versions: [],
  refreshedFrom: [],
  puts: [],
  deletions: [],
});

function run(step: Step, operation: Exclude<Operation, { what: 'publish' }>): Promise<unknown> {
  switch (operation.what) {
    case 'publishAgain':
      return publishAgain(step, operation);
    case 'resolve':
      return resolve(step, operation);
    case 'dismiss':
      return dismiss(step, operation);
    case 'updatePreferences':
      return updatePreferences(step, operation);
    case 'store':
      return expectSuccess(step.member.rest.put('/editor/auth/subscription', tokenPair(step)));
    case 'refresh':
      return refresh(step);
    case 'report':
      return report(step);
    case 'deleteCredential':
      return expectSuccess(step.member.rest.delete('/editor/auth'));
    case 'putWorkspaces':
      return putWorkspaces(step, operation);
    case 'deleteWorkspace':
      return deleteWorkspace(step, operation);
    case 'deleteUser':
      return step.service.deleteUser({ userId: step.userId });
  }
}

/** Returns the timestamp of an operation. No two operations have the same. */
const timeAt = (hours: number, index: number) =>
  new Date(Date.UTC(2026, 0, 1, hours, 0, 0, index)).toISOString();

const tokenPair = ({ index }: Step) => ({ accessToken: `access-${index}`, refreshToken: `refresh-${index}` });

async function expectSuccess(reply: ReturnType<Caller['rest']['get']>) {
  const { status, body } = await reply;
  expect(status).toBeLessThan(300);
  return body;
}

const PUBLISH = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created notification { ... on UserNotification { id } } }
}`;
const PUBLISH_ALL = `mutation ($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) { results { created notification { ... on UserNotification { id } } } }
}`;

const publishInput = ({ userId, id, task, kind, time }: Published) =>
  notification(userId, kind, { id, task: { id: task, projectId: 'p' }, title: id, occurredAt: time });

/** A batch also contains a notification of another user, whose ID sorts before or after. */
async function publish(
  { index, userId, account, service }: Step,
  { task, kind, hour, isBatch }: OperationOf<'publish'>,
  other: Pick<Step, 'userId' | 'account'>,
): Promise<void> {
  const made = { task, kind, time: timeAt(hour, index) };
  const own = { userId, id: `n-${index}`, ...made };
  account.published.push(own);
  if (!isBatch) {
    const { publishNotification } = await service.run(PUBLISH, { input: publishInput(own) });
    if (publishNotification.created) account.created.push(own.id);
    return;
  }
  const others = { userId: other.userId, id: `o-${index}`, ...made };
  other.account.published.push(others);
  const input = { notifications: [own, others].map(publishInput) };
  const [first, second] = (await service.run(PUBLISH_ALL, { input })).publishNotifications.results;
  if (first.created) account.created.push(first.notification.id);
  if (second.created) other.account.created.push(second.notification.id);
}

async function publishAgain({ account, service }: Step, { which }: OperationOf<'publishAgain'>) {
  const known = account.published[which];
  if (known === undefined) return;
  const { publishNotification } = await service.run(PUBLISH, { input: publishInput(known) });
  if (publishNotification.created) account.created.push(known.id);
}

const toIds = (notifications: { id: string }[]) => notifications.map(({ id }) => id);

async function resolve({ index, userId, account, service }: Step, operation: OperationOf<'resolve'>) {
  const before = operation.before === undefined ? undefined : timeAt(operation.before, index);
  account.resolutions.push({ task: operation.task, before });
  const { resolveNotifications } = await service.run(
    `mutation ($input: ResolveNotificationsInput!) {
      resolveNotifications(input: $input) { notifications { ... on UserNotification { id } } }
    }`,
    { input: { userId, taskId: operation.task, reason: 'RESUMED', before } },
  );
  account.resolved.push(...toIds(resolveNotifications.notifications));
}

async function dismiss({ account, member }: Step, { which }: OperationOf<'dismiss'>): Promise<void> {
  const { dismissNotifications } = await member.run(
    `mutation ($ids: [ID!]!) {
      dismissNotifications(input: { ids: $ids }) { notifications { ... on UserNotification { id } } }
    }`,
    { ids: which.map((number) => account.published[number]?.id ?? 'unknown') },
  );
  account.dismissed.push(...toIds(dismissNotifications.notifications));
}

async function updatePreferences(
  { account, member }: Step,
  { kind, flags: { email, push, chat } }: OperationOf<'updatePreferences'>,
) {
  const item = { email_enabled: email, push_enabled: push, chat_dm_enabled: chat };
  const preferences = [{ ...item, ...(kind && { notification_kind: kind }) }];
  const reply = member.rest.put('/user/notification-preferences', { preferences });
  account.preferences.push((await expectSuccess(reply)).preferences);
}

async function currentVersion({ userId, service }: Step): Promise<string | undefined> {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { version } }';
  return (await service.run(query, { userId })).editorCredential?.version;
}

async function refresh(step: Step): Promise<void> {
  const { userId, account, service } = step;
  const version = await currentVersion(step);
  if (version === undefined) return;
  const { data, errors } = await service.graphql(
    'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }',
    { input: { userId, version, ...tokenPair(step) } },
  );
  if (errors.length > 0) return expect(errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
  account.refreshedFrom.push(version);
  account.versions.push(data.refreshEditorCredential.version);
}

async function report(step: Step): Promise<void> {
  const { userId, service } = step;
  const version = await currentVersion(step);
  if (version === undefined) return;
  await service.run(
    'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }',
    { input: { userId, version, reason: 'TOKEN_REVOKED' } },
  );
}

const workspaceIds = [1, 2].map((number) => `5f0c2f0e-0000-4000-8000-00000000000${number}`);

async function putWorkspaces(
  { index, userId, account, service }: Step,
  { hours }: OperationOf<'putWorkspaces'>,
) {
  const puts = workspaceIds.map((id, at) => ({ id, time: timeAt(hours[at] ?? 0, index) }));
  account.puts.push(...puts);
  const workspaces = puts.map(({ id, time }) => workspaceInput({ id, updatedAt: time, gitRef: time }));
  await service.run(
    'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }',
    { input: { userId, workspaces: index % 2 === 0 ? workspaces : workspaces.toReversed() } },
  );
}

async function deleteWorkspace(
  { index, userId, account, service }: Step,
  { which, hour }: OperationOf<'deleteWorkspace'>,
) {
  const deletion = { id: workspaceIds[which] ?? '', time: timeAt(hour, index) };
  account.deletions.push(deletion);
  await service.deleteWorkspace({ userId, id: deletion.id, deletedAt: deletion.time });
}
