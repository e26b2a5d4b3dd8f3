import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import {
  asMember,
  asPlatform,
  credentialVersion,
  deleteUser,
  publish,
  putWorkspaces,
  workspaceInput,
} from '../support/records.ts';
import { recordStatementsWith } from '../support/statements.ts';
import { member, platform } from '../support/tokens.ts';

/*
 * A statement sees what was committed before it began. These changes begin before the record that they must find is
 * committed.
 */

const keys = { ENCRYPTION_KEYS: `key:${randomBytes(32).toString('base64')}` };
const gateway = useGateway(keys);
let withChannel: TestGateway;
let locker: pg.Client;
beforeAll(async () => {
  // A channel adds statements to changes. Nothing listens on the port.
  const email = { SMTP_URL: 'smtp://127.0.0.1:1', SMTP_FROM: 'no-reply@example.com', DELIVERY: 'false' };
  withChannel = await startTestGateway({ ...email, ...keys }, gateway.database);
  locker = await connect();
});
afterAll(async () => {
  await locker.end();
  await withChannel.close();
});

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
  await locker.query('begin');
  await locker.query('select from user_revision where user_id = $1 for update', [userId]);
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

const WORKSPACE = '00000000-0000-4000-8000-000000000000';
const task = { id: 'task', projectId: 'project' };
const readStatus = async (userId: string) => {
  const rows = await gateway.database.sql('select status from notification where user_id = $1', [userId]);
  return rows.map(({ status }) => status);
};

// Over another gateway, because those of one process take turns.
describe.each([
  ['without channels', () => gateway, () => withChannel],
  ['with a channel', () => withChannel, () => gateway],
])('a notification whose publication is committed first is changed, %s:', (variant, get, getOther) => {
  test.each([
    [
      'dismissNotifications',
      async (userId: string) => {
        const query =
          'mutation { dismissNotifications(input: { ids: ["n"] }) { notifications { ... on UserNotification { id } } } }';
        return (await asMember(get(), userId, query)).dismissNotifications.notifications;
      },
      [{ id: 'n' }],
      ['active', 'dismissed'],
    ],
    [
      'resolveNotifications',
      async (userId: string) => {
        const query = `mutation ($input: ResolveNotificationsInput!) {
          resolveNotifications(input: $input) { notifications { ... on UserNotification { id } } }
        }`;
        const input = { userId, taskId: task.id, reason: 'ANSWERED_ELSEWHERE' };
        return (await asPlatform(get(), query, { input })).resolveNotifications.notifications;
      },
      [{ id: 'before' }, { id: 'n' }],
      ['resolved', 'resolved'],
    ],
    ['deleteUser', (userId: string) => deleteUser(get(), userId), true, []],
  ])('%s', async (name, change, result, statuses) => {
    const userId = `${name} ${variant}`;
    // Resolving waits only if there is something to resolve.
    await publish(get(), userId, 'plan_requested', { id: 'before', task });
    const [, changed] = await runInOrder(
      userId,
      () => publish(getOther(), userId, 'task_failed', { id: 'n', task }),
      () => change(userId),
    );
    expect(changed).toEqual(result);
    expect((await readStatus(userId)).sort()).toEqual(statuses);
  });

  test('a later publication of its task and kind', async () => {
    const userId = `superseded ${variant}`;
    await runInOrder(
      userId,
      () => publish(getOther(), userId, 'task_failed', { id: 'n', task }),
      () => publish(get(), userId, 'task_failed', { id: 'later', task }),
    );
    expect((await readStatus(userId)).sort()).toEqual(['active', 'resolved']);
  });
});

describe.each([
  ['without channels', () => gateway],
  ['with a channel', () => withChannel],
])(
  'a notification that is committed after the statement of its dismissal is dismissed, %s',
  (variant, get) => {
    const dismissBy = {
      async GraphQL(userId: string) {
        const query = `mutation {
        dismissNotification(input: { id: "n" }) { notification { ... on UserNotification { status } } }
      }`;
        return (await asMember(get(), userId, query)).dismissNotification.notification.status;
      },
      async REST(userId: string) {
        const token = await member(userId);
        const { body } = await rest(get(), 'POST', '/user/notifications/n/dismiss', { token });
        return body.notification?.status.toUpperCase();
      },
    };

    test.each(['GraphQL', 'REST'] as const)('over %s', async (api) => {
      const userId = `committed later ${variant} ${api}`;
      await publish(get(), userId, 'task_failed', { id: 'model' });
      const publisher = await connect();
      onTestFinished(() => publisher.end());
      await publisher.query('begin');
      // The publication that is not committed yet.
      await publisher.query(
        `insert into notification select (jsonb_populate_record(null::notification,
         to_jsonb(notification) || '{"id": "n", "task_id": "task"}')).* from notification where user_id = $1`,
        [userId],
      );
      const release = await occupyReads(get());

      const dismissed = dismissBy[api](userId);
      // The statement has found nothing; the read that follows it waits for a connection.
      await eventually(async () => expect(await countPendingReads(get())).toBe(1));
      await publisher.query('commit');
      await release();
      expect(await dismissed).toBe('DISMISSED');
      expect(
        await gateway.database.sql(`select status from notification where user_id = $1 and id = 'n'`, [
          userId,
        ]),
      ).toEqual([{ status: 'dismissed' }]);
    });
  },
);

test('a dismissal sends one statement, and a repeated one also reads the notification', async () => {
  const userId = 'ordinary';
  const { id } = await publish(gateway, userId);
  const query = 'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }';
  const dismiss = () => recordStatementsWith(id, () => asMember(gateway, userId, query, { id }));
  expect((await dismiss()).length).toBe(1);
  expect((await dismiss()).length).toBe(2);
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: gateway.database.url });
  await client.connect();
  return client;
}

const countPendingReads = async (from: TestGateway) =>
  (await scrape(from)).sum('db_client_connection_pending_requests', {
    db_client_connection_pool_name: 'short_reads',
  });

/** Occupies both connections for short reads until the returned function is called. */
async function occupyReads(of: TestGateway): Promise<() => Promise<unknown>> {
  await locker.query('begin');
  await locker.query('lock table workspace');
  const read = () => asMember(of, 'reader', '{ workspaces(first: 1) { nodes { id } } }');
  /** Starts a read, and waits until its connection is no longer shared with others. */
  const occupy = async (blocked: number) => {
    const started = performance.now();
    const reading = read();
    await waitUntilBlocked(blocked);
    await eventually(() => expect(performance.now() - started).toBeGreaterThan(100));
    return { reading };
  };
  const { reading: first } = await occupy(1);
  const { reading: second } = await occupy(2);
  return async () => {
    await locker.query('rollback');
    return Promise.all([first, second]);
  };
}

describe('a workspace that is committed first is changed by', () => {
  const [older, newer] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z'];
  const put = (userId: string, updatedAt: string) =>
    putWorkspaces(gateway, userId, [workspaceInput({ id: WORKSPACE, createdAt: older, updatedAt })]);

  test('putWorkspaces with a newer state, and not with an older one', async () => {
    expect(
      await runInOrder(
        'put',
        () => put('put', older),
        () => put('put', newer),
      ),
    ).toEqual([[WORKSPACE], [WORKSPACE]]);
    expect(
      await runInOrder(
        'late',
        () => put('late', newer),
        () => put('late', older),
      ),
    ).toEqual([[WORKSPACE], []]);
  });

  test('deleteWorkspace', async () => {
    const query = `mutation {
      deleteWorkspace(input: { userId: "deleted", id: "${WORKSPACE}", deletedAt: "${newer}" }) { deleted }
    }`;
    const [, { deleteWorkspace }] = await runInOrder(
      'deleted',
      () => put('deleted', older),
      () => asPlatform(gateway, query),
    );
    expect(deleteWorkspace).toEqual({ deleted: true });
  });
});

test('of two updates of preferences, the second is stored', async () => {
  const update = (emailEnabled: boolean) =>
    asMember(
      gateway,
      'preferences',
      `mutation ($emailEnabled: Boolean!) { updateNotificationPreferences(input: { preferences: [
        { emailEnabled: $emailEnabled, pushEnabled: true, chatDmEnabled: true }
      ] }) { preferences { emailEnabled } } }`,
      { emailEnabled },
    );
  const [, { updateNotificationPreferences }] = await runInOrder(
    'preferences',
    () => update(true),
    () => update(false),
  );
  expect(new Set(updateNotificationPreferences.preferences.flatMap(Object.values))).toEqual(new Set([false]));
});

// Over two gateways, because those of one process take turns.
describe('a credential', () => {
  const pair = { accessToken: 'access', refreshToken: 'refresh' };
  const store = async (userId: string) =>
    rest(gateway, 'PUT', '/editor/auth/subscription', { token: await member(userId), body: pair });

  test('that is committed first is deleted', async () => {
    // Deleting waits only if there is something to delete.
    await store('connected');
    const remove = async () =>
      rest(withChannel, 'DELETE', '/editor/auth', { token: await member('connected') });
    await runInOrder('connected', () => store('connected'), remove);
    const rows = await gateway.database.sql(
      `select ciphertext from editor_credential where user_id = 'connected'`,
    );
    expect(rows).toEqual([{ ciphertext: null }]);
  });

  /** Stores a credential, and returns changes of its version, each by a gateway. */
  async function prepare(userId: string) {
    await store(userId);
    const version = await credentialVersion(gateway, userId);
    const run = async (at: TestGateway, mutation: string, field: string, more: object) => {
      const query = `mutation ($input: ${mutation}Input!) { result: ${mutation.replace(/^./, (letter) => letter.toLowerCase())}(input: $input) { ${field} } }`;
      const input = { userId, version, ...more };
      const { data, errors } = await graphql(at, query, { input }, { token: await platform() });
      return errors.length > 0 ? errors[0].extensions.code : data.result[field];
    };
    return {
      claim: (at: TestGateway, claimId: string) => () =>
        run(at, 'ClaimEditorCredentialRefresh', 'granted', { claimId }),
      refresh: (at: TestGateway, accessToken: string) => () =>
        run(at, 'RefreshEditorCredential', 'version', { accessToken, refreshToken: 'next' }),
      report: (at: TestGateway) => () =>
        run(at, 'ReportEditorAuthFailure', 'applied', { reason: 'TOKEN_REVOKED' }),
    };
  }

  test('is claimed once', async () => {
    const { claim } = await prepare('claimed');
    const claims = runInOrder('claimed', claim(gateway, 'mine'), claim(withChannel, 'yours'));
    expect(await claims).toEqual([true, false]);
  });

  test('is refreshed once, and neither claimed nor reported after its refresh', async () => {
    const version = expect.stringContaining('-');
    const once = await prepare('once');
    expect(
      await runInOrder('once', once.refresh(gateway, 'first'), once.refresh(withChannel, 'second')),
    ).toEqual([version, 'CONFLICT']);
    const late = await prepare('late-claim');
    expect(
      await runInOrder('late-claim', late.refresh(gateway, 'first'), late.claim(withChannel, 'late')),
    ).toEqual([version, 'CONFLICT']);
    const reported = await prepare('reported');
    expect(
      await runInOrder('reported', reported.refresh(gateway, 'first'), reported.report(withChannel)),
    ).toEqual([version, false]);
  });
});
