import fc from 'fast-check';
import { expect } from 'vitest';
import type { Caller } from './as.ts';
import type { TestGateway } from './gateway.ts';
import { type Kind, notification, workspaceInput } from './records.ts';
import { platform } from './tokens.ts';

/*
 * Concurrent changes of the records of a few users, by operations that the latest release has too: the test of the upgrade
 * sends them to it.
 */

/** A notification whose publication was sent, successfully or not. */
type Published = { userId: string; id: string; task: string; kind: Kind; time: string };

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

type Owner = { userId: string; account: Account };

/** An operation that runs, at one of the gateways. */
type Step = Owner & { index: number; other: Owner; service: Caller; member: Caller };

/** A change by or for one of three users. */
export type Operation = { name: string; user: number; given: unknown; run(step: Step): Promise<unknown> };

function operation<Given>(
  name: string,
  given: fc.Arbitrary<Given>,
  run: (step: Step, given: Given) => Promise<unknown>,
): fc.Arbitrary<Operation> {
  return fc
    .record({ user: fc.nat(2), given })
    .map(({ user, given }) => ({ name, user, given, run: (step) => run(step, given) }));
}

/** Hours since the start of a year. The operation's index makes every timestamp unique. */
const hour = fc.nat(20);
const task = fc.constantFrom('task-1', 'task-2');
const kind = fc.constantFrom('plan_requested' as const, 'task_failed' as const);
const workspaceIds = [1, 2].map((number) => `5f0c2f0e-0000-4000-8000-00000000000${number}`);
const nothing = fc.constant(null);

export const operations = fc.oneof(
  {
    weight: 6,
    arbitrary: operation('publish', fc.record({ task, kind, hour, isBatch: fc.boolean() }), publish),
  },
  operation('publish again', fc.nat(20), publishAgain),
  operation('resolve', fc.record({ task, hour: fc.option(hour) }), resolve),
  operation('dismiss', fc.array(fc.nat(20), { maxLength: 3 }), dismiss),
  operation(
    'update preferences',
    fc.record(
      {
        notification_kind: kind,
        email_enabled: fc.boolean(),
        push_enabled: fc.boolean(),
        chat_dm_enabled: fc.boolean(),
      },
      { requiredKeys: ['email_enabled', 'push_enabled', 'chat_dm_enabled'] },
    ),
    async ({ account, member }, preference) => {
      const reply = member.rest.put('/user/notification-preferences', { preferences: [preference] });
      account.preferences.push((await expectSuccess(reply)).preferences);
    },
  ),
  fc.oneof(
    operation('store credential', nothing, (step) =>
      expectSuccess(step.member.rest.put('/editor/auth/subscription', tokenPair(step))),
    ),
    operation('refresh credential', nothing, refresh),
    operation('report credential', nothing, report),
    operation('delete credential', nothing, ({ member }) =>
      expectSuccess(member.rest.delete('/editor/auth')),
    ),
  ),
  operation('put workspaces', fc.tuple(hour, hour), putWorkspaces),
  operation('delete workspace', fc.record({ id: fc.constantFrom(...workspaceIds), hour }), deleteWorkspace),
);

export const deletions = operation('delete user', nothing, ({ service, userId }) =>
  service.deleteUser({ userId }),
);

/** Runs all operations at once, each at one of the gateways and for one of three users, whose names begin with `name`. */
export async function runWorkload(
  gateways: readonly TestGateway[],
  name: string,
  sequence: readonly Operation[],
): Promise<Workload> {
  const owners = [1, 2, 3].map((number) => ({ userId: `${name}-${number}`, account: emptyAccount() }));
  const owner = (number: number) => owners[number % owners.length] ?? expect.unreachable();
  const gateway = (index: number) => gateways[index % gateways.length] ?? expect.unreachable();
  const working = sequence.map(({ user, run }, index) => {
    const { as } = gateway(index);
    const { userId, account } = owner(user);
    const other = owner(user + 1 + (index % 2));
    return run({ index, userId, account, other, service: as(platform), member: as(userId) });
  });
  await Promise.all(working);
  return {
    users: owners.map(({ userId }) => userId),
    database: gateway(0).database,
    account: (user) => owners.find(({ userId }) => userId === user)?.account ?? expect.unreachable(user),
  };
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

/** Returns the timestamp of an operation. No two operations have the same. */
const timeAt = (hours: number, index: number) =>
  new Date(Date.UTC(2026, 0, 1, hours, 0, 0, index)).toISOString();

const tokenPair = ({ index }: Step) => ({ accessToken: `access-${index}`, refreshToken: `refresh-${index}` });

async function expectSuccess(reply: ReturnType<Caller['rest']['get']>) {
  const { status, body } = await reply;
  expect(status).toBeLessThan(300);
  return body;
}

const publishInput = ({ userId, id, task, kind, time }: Published) =>
  notification(userId, kind, { id, task: { id: task, projectId: 'p' }, title: id, occurredAt: time });

/** A batch also contains a notification of another user, whose ID sorts before or after. */
async function publish(
  { index, service, other, ...own }: Step,
  { isBatch, hour, ...given }: { task: string; kind: Kind; hour: number; isBatch: boolean },
) {
  const made = [own, ...(isBatch ? [other] : [])].map(({ userId, account }, number) => {
    const published = {
      userId,
      id: `${number === 0 ? 'n' : 'o'}-${index}`,
      time: timeAt(hour, index),
      ...given,
    };
    account.published.push(published);
    return { account, published };
  });
  const inputs = made.map(({ published }) => publishInput(published));
  const results = isBatch
    ? await service.publishAll({ notifications: inputs })
    : [await service.publish(inputs[0] ?? {})];
  for (const [number, { account, published }] of made.entries()) {
    if (results[number]?.created) account.created.push(published.id);
  }
}

async function publishAgain({ account, service }: Step, which: number) {
  const known = account.published[which];
  if (known && (await service.publish(publishInput(known))).created) account.created.push(known.id);
}

async function resolve(
  { index, userId, account, service }: Step,
  { task, hour }: { task: string; hour: number | null },
) {
  const before = hour === null ? undefined : timeAt(hour, index);
  account.resolutions.push({ task, before });
  const resolved = await service.resolve({ userId, taskId: task, reason: 'RESUMED', before });
  account.resolved.push(...resolved.map(({ id }) => id));
}

/** By a document that the latest release has: the tests' own one selects the undo token. */
async function dismiss({ account, member }: Step, which: readonly number[]) {
  const { dismissNotifications } = await member.run(
    `mutation ($ids: [ID!]!) {
      dismissNotifications(input: { ids: $ids }) { notifications { ... on UserNotification { id } } }
    }`,
    { ids: which.map((number) => account.published[number]?.id ?? 'unknown') },
  );
  for (const { id } of dismissNotifications.notifications) account.dismissed.push(id);
}

/** Returns the version of the stored credential, if any. */
async function currentVersion({ userId, service }: Step): Promise<string | undefined> {
  return (await service.editorCredential({ userId }))?.version;
}

async function refresh(step: Step): Promise<void> {
  const { userId, account, service } = step;
  const version = await currentVersion(step);
  if (version === undefined) return;
  const refreshed = service.refreshCredential({ userId, version, ...tokenPair(step) });
  const next = await refreshed.catch((error: unknown) => expect(error).toMatchObject({ code: 'CONFLICT' }));
  if (typeof next !== 'string') return;
  account.refreshedFrom.push(version);
  account.versions.push(next);
}

async function report(step: Step): Promise<void> {
  const version = await currentVersion(step);
  if (version === undefined) return;
  await step.service.reportEditorFailure({ userId: step.userId, version, reason: 'TOKEN_REVOKED' });
}

async function putWorkspaces({ index, userId, account, service }: Step, hours: readonly number[]) {
  const puts = workspaceIds.map((id, at) => ({ id, time: timeAt(hours[at] ?? 0, index) }));
  account.puts.push(...puts);
  const workspaces = puts.map(({ id, time }) => workspaceInput({ id, updatedAt: time, gitRef: time }));
  await service.putWorkspaces({ userId, workspaces: index % 2 === 0 ? workspaces : workspaces.toReversed() });
}

async function deleteWorkspace(
  { index, userId, account, service }: Step,
  { id, hour }: { id: string; hour: number },
) {
  const time = timeAt(hour, index);
  account.deletions.push({ id, time });
  await service.deleteWorkspace({ userId, id, deletedAt: time });
}

/** Checks the records of all users against the operations and their results. */
export async function checkWorkload(workload: Workload): Promise<void> {
  for (const userId of workload.users) {
    await checkNotifications(workload, userId);
    await checkWorkspaces(workload, userId);
    await checkPreferences(workload, userId);
    const { versions, refreshedFrom } = workload.account(userId);
    expect(new Set(versions).size).toBe(versions.length);
    expect(new Set(refreshedFrom).size).toBe(refreshedFrom.length);
  }
}

const time = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const sorted = (texts: readonly unknown[]) => texts.map(String).sort();
const latest = (times: readonly string[]) => times.toSorted().at(-1) ?? '';

async function checkNotifications({ database, account }: Workload, userId: string): Promise<void> {
  const { published, created, resolutions, resolved, dismissed } = account(userId);
  const rows = await database.sql(
    `select id, title, task_id as task, kind, status, resolution as reason, revision::int,
       ${time('occurred_at')} as time from notification where user_id = $1`,
    [userId],
  );
  const ids = sorted(published.map(({ id }) => id));
  expect(sorted(rows.map(({ id }) => id))).toEqual(ids);
  expect(sorted(rows.map(({ title }) => title))).toEqual(ids);
  expect(sorted(created)).toEqual(ids);

  expect(sorted(dismissed)).toEqual(
    sorted(rows.flatMap(({ id, status }) => (status === 'dismissed' ? [id] : []))),
  );
  // A notification that was published after a resolution that covers its time is resolved (`resumed`) too, but no
  // resolution returned it.
  expect(new Set(resolved).size).toBe(resolved.length);
  for (const { id, reason } of rows) if (resolved.includes(String(id))) expect(reason).toBe('resumed');
  await checkRevisions({ database }, userId, rows);

  for (const group of Map.groupBy(rows, ({ task, kind }) => `${task} ${kind}`).values()) {
    const newest = latest(group.map(({ time }) => String(time)));
    const task = String(group[0]?.task);
    const ofTask = resolutions.filter((resolution) => resolution.task === task);
    const before = latest(ofTask.flatMap(({ before }) => before ?? []));
    for (const row of group) {
      const isCurrent = row.time === newest && newest > before;
      // A resolution without `before` resolves whatever is active at that moment, which depends on the order of
      // execution.
      const isOpen = ofTask.every((resolution) => resolution.before !== undefined);
      if (!isCurrent) expect(row.status).not.toBe('active');
      else if (isOpen && !dismissed.includes(String(row.id))) expect(row.status).toBe('active');
    }
  }
}

async function checkRevisions(
  { database }: Pick<Workload, 'database'>,
  userId: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const revisions = rows.map(({ revision }) => Number(revision));
  expect(new Set(revisions).size).toBe(revisions.length);
  if (revisions.length === 0) return;
  const [user] = await database.sql(
    'select notifications::int as reached from user_revision where user_id = $1',
    [userId],
  );
  // Resolutions with `before` move the revision even if they match nothing.
  expect(user?.reached).toBeGreaterThanOrEqual(Math.max(...revisions));
}

async function checkWorkspaces({ database, account }: Workload, userId: string): Promise<void> {
  const { puts, deletions } = account(userId);
  const rows = await database.sql(
    `select id, git_ref as state, ${time('updated_at')} as time from workspace where user_id = $1 order by id`,
    [userId],
  );
  const expected = [...new Set(puts.map(({ id }) => id))].sort().flatMap((id) => {
    const put = latest(puts.flatMap((one) => (one.id === id ? [one.time] : [])));
    const deleted = latest(deletions.flatMap((one) => (one.id === id ? [one.time] : [])));
    return put > deleted ? [{ id, state: put, time: put }] : [];
  });
  expect(rows).toEqual(expected);
}

/** The records must match one of the replies, as the last reply contains what is stored. */
async function checkPreferences({ database, account }: Workload, userId: string): Promise<void> {
  const { preferences } = account(userId);
  const rows = await database.sql(
    `select user_id, notification_kind, email_enabled, push_enabled, chat_dm_enabled,
       ${time('created_at')} as created_at, ${time('updated_at')} as updated_at
     from notification_preference where user_id = $1 order by notification_kind`,
    [userId],
  );
  if (preferences.length === 0) expect(rows).toEqual([]);
  else expect(preferences).toContainEqual(rows);
}
