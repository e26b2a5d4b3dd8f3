import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Caller, conflict } from '../support/as.ts';
import { beginTransaction, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { credentialVersion, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { recordStatementsWith } from '../support/statements.ts';
import { platform } from '../support/tokens.ts';

/*
 * A statement sees what was committed before it began. These changes begin before the record that they must find is
 * committed.
 */

const keys = { ENCRYPTION_KEYS: `key:${randomBytes(32).toString('base64')}` };
const gateway = useGateway(keys);
/** Another gateway, because the changes of one process take turns. */
let withChannel: TestGateway;
beforeAll(async () => {
  // A channel adds statements to changes. Nothing listens on the port.
  const email = { SMTP_URL: 'smtp://127.0.0.1:1', SMTP_FROM: 'no-reply@example.com', DELIVERY: 'false' };
  withChannel = await startTestGateway({ ...email, ...keys }, gateway.database);
});
afterAll(() => withChannel.close());

/**
 * Starts both changes while another transaction holds the user's lock, and returns their results. PostgreSQL grants a
 * row's lock in the order of the requests, so the second change waits until the first is committed.
 */
async function runInOrder<First, Second>(
  userId: string,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  await gateway.database.sql('insert into user_revision (user_id) values ($1) on conflict do nothing', [
    userId,
  ]);
  const locker = await beginTransaction(
    gateway.database,
    `select from user_revision where user_id = '${userId}' for update`,
  );
  const earlier = first();
  const blocked = Promise.race([waitUntilBlocked(1), earlier.then(failUnblocked)]);
  const results = Promise.all([earlier, blocked.then(second)]);
  // Fails first if a change fails.
  await Promise.race([results, waitUntilBlocked(2)]).finally(() => locker.query('rollback'));
  return results;
}

const waitUntilBlocked = (count: number) =>
  eventually(async () => expect(await waitingSessions(gateway.database)).toBeGreaterThanOrEqual(count));

const failUnblocked = (result: unknown): never => {
  throw new Error(`The change did not wait: ${JSON.stringify(result)}`);
};

const task = { id: 'task', projectId: 'project' };
const readStatuses = async (userId: string) => {
  const rows = await gateway.database.sql('select status from notification where user_id = $1 order by id', [
    userId,
  ]);
  return rows.map(({ status }) => status);
};

describe.each([
  ['without channels', () => gateway, () => withChannel],
  ['with a channel', () => withChannel, () => gateway],
])('%s', (variant, get, getOther) => {
  test.each<[what: string, change: (userId: string) => Promise<unknown>, statuses: string[]]>([
    [
      'dismissed',
      (userId) =>
        get()
          .as(userId)
          .dismissAll({ ids: ['n'] }),
      ['active', 'dismissed'],
    ],
    [
      'resolved',
      (userId) => get().as(platform).resolve({ userId, taskId: 'task', reason: 'ANSWERED_ELSEWHERE' }),
      ['resolved', 'resolved'],
    ],
    ['deleted with its user', (userId) => get().as(platform).deleteUser({ userId }), []],
    [
      'superseded',
      (userId) => publish(get(), userId, 'task_failed', { id: 'o', task }),
      ['active', 'resolved', 'active'],
    ],
  ])('a notification whose publication is committed first is %s', async (what, change, statuses) => {
    const userId = `${what} ${variant}`;
    // Resolving waits only if there is something to resolve.
    await publish(get(), userId, 'plan_requested', { id: 'before', task });
    await runInOrder(
      userId,
      () => publish(getOther(), userId, 'task_failed', { id: 'n', task }),
      () => change(userId),
    );
    expect(await readStatuses(userId)).toEqual(statuses);
  });

  test('a notification that is committed after the statement of its dismissal is dismissed', async () => {
    const userId = `committed later ${variant}`;
    await publish(get(), userId, 'task_failed', { id: 'model' });
    // The publication that is not committed yet.
    const publisher = await beginTransaction(
      gateway.database,
      `insert into notification select (jsonb_populate_record(null::notification,
       to_jsonb(notification) || '{"id": "n", "task_id": "task"}')).* from notification where user_id = '${userId}'`,
    );
    const release = await occupyReads(get());

    const dismissed = get().as(userId).dismiss({ id: 'n' });
    // The statement has found nothing; the read that follows it waits for a connection.
    const pool = { db_client_connection_pool_name: 'short_reads' };
    await eventually(async () =>
      expect((await scrape(get())).sum('db_client_connection_pending_requests', pool)).toBe(1),
    );
    await publisher.query('commit');
    await release();
    expect((await dismissed).status).toBe('DISMISSED');
    expect(await readStatuses(userId)).toEqual(['active', 'dismissed']);
  });
});

/** Occupies both connections for short reads until the returned function is called. */
async function occupyReads(of: TestGateway): Promise<() => Promise<unknown>> {
  const locker = await beginTransaction(gateway.database, 'lock table workspace');
  const reads: Promise<unknown>[] = [];
  for (const blocked of [1, 2]) {
    const started = performance.now();
    reads.push(of.as('reader').workspaces({ first: 1 }));
    await waitUntilBlocked(blocked);
    // Until its connection is no longer shared with others.
    await eventually(() => expect(performance.now() - started).toBeGreaterThan(100));
  }
  return async () => {
    await locker.query('rollback');
    return Promise.all(reads);
  };
}

test('a dismissal sends one statement, and a repeated one also reads the notification', async () => {
  const { id } = await publish(gateway, 'ordinary');
  const query = 'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }';
  const dismiss = () => recordStatementsWith(id, () => gateway.as('ordinary').graphql(query, { id }));
  expect([(await dismiss()).length, (await dismiss()).length]).toEqual([1, 2]);
});

const WORKSPACE = '00000000-0000-4000-8000-000000000000';
const [older, newer] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z'];
const put = (userId: string, updatedAt: string) => () =>
  putWorkspaces(gateway, userId, [workspaceInput({ id: WORKSPACE, createdAt: older, updatedAt })]);

test('a workspace that is committed first is replaced by a newer state only, and deleted', async () => {
  expect(await runInOrder('put', put('put', older), put('put', newer))).toEqual([[WORKSPACE], [WORKSPACE]]);
  expect(await runInOrder('late', put('late', newer), put('late', older))).toEqual([[WORKSPACE], []]);
  const remove = () =>
    gateway.as(platform).deleteWorkspace({ userId: 'deleted', id: WORKSPACE, deletedAt: newer });
  expect(await runInOrder('deleted', put('deleted', older), remove)).toEqual([[WORKSPACE], true]);
});

test('of two updates of preferences, the second is stored', async () => {
  const update = (emailEnabled: boolean) => () =>
    gateway.as('preferences').updatePreferences({
      preferences: [{ emailEnabled, pushEnabled: true, chatDmEnabled: true }],
    });
  await runInOrder('preferences', update(true), update(false));
  const stored = await gateway.as('preferences').preferences();
  expect(new Set(stored.map(({ emailEnabled }) => emailEnabled))).toEqual(new Set([false]));
});

describe('a credential', () => {
  const connectEditor = (userId: string) =>
    gateway.as(userId).connectEditor({ accessToken: 'access', refreshToken: 'refresh' });

  test('that is committed first is deleted', async () => {
    // Deleting waits only if there is something to delete.
    await connectEditor('connected');
    await runInOrder(
      'connected',
      () => connectEditor('connected'),
      () => withChannel.as('connected').disconnectEditor(),
    );
    const rows = await gateway.database.sql(
      `select ciphertext from editor_credential where user_id = 'connected'`,
    );
    expect(rows).toEqual([{ ciphertext: null }]);
  });

  type Version = { userId: string; version: string };
  const claim = (by: Caller, of: Version) => by.claimRefresh({ ...of, claimId: randomUUID() });
  const refresh = (by: Caller, of: Version) =>
    by.refreshCredential({ ...of, accessToken: randomUUID(), refreshToken: 'next' });
  const report = (by: Caller, of: Version) => by.reportEditorFailure({ ...of, reason: 'TOKEN_REVOKED' });

  test.each([
    ['claimed once', claim, claim, { granted: false }],
    ['refreshed once', refresh, refresh, conflict('STALE_VERSION', 'input.version')],
    ['not claimed after its refresh', refresh, claim, conflict('STALE_VERSION', 'input.version')],
    ['not reported after its refresh', refresh, report, { applied: false }],
  ])('is %s', async (userId, first, second, result) => {
    await connectEditor(userId);
    const of = { userId, version: await credentialVersion(gateway, userId) };
    const [, later] = await runInOrder<unknown, unknown>(
      userId,
      () => first(gateway.as(platform), of),
      () => second(withChannel.as(platform), of).catch((refusal: unknown) => refusal),
    );
    expect(later).toMatchObject(result);
  });
});
