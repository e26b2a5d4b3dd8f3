import { createSecretKey, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { retryDeliveries } from '../../src/delivery/deliveries.ts';
import { createOutbox } from '../../src/delivery/queue.ts';
import { rotateKeys } from '../../src/encryption/rotate-keys.ts';
import { restoreNotification } from '../../src/notifications/restore-notification.ts';
import { deleteBatch } from '../../src/notifications/retention.ts';
import { takeStep } from '../../src/statistics/sweep.ts';
import { toTime } from '../../src/values/time.ts';
import { insertNotifications, insertWorkspaces } from '../support/bulk-records.ts';
import { rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { addTargets, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { asPlatform, deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { updateStatistics } from '../support/statistics.ts';
import { member } from '../support/tokens.ts';
import { Workload } from '../support/workload.ts';
import { operations } from '../support/workload-operations.ts';
import { runOperation } from '../support/workload-runner.ts';

/* Statistics cover all users, so each test has its own database. The gateways only queue deliveries. */

const key = randomBytes(32);
const settings = {
  ...unreachableProviders,
  DELIVERY: 'false',
  ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
};

let gateway: TestGateway;
let opened: Awaited<ReturnType<typeof openDatabase>>;
beforeEach(async () => {
  gateway = await startTestGateway(settings);
  opened = await openDatabase({ url: gateway.database.url, poolSize: 8, timeoutMs: 30_000 });
});
afterEach(async () => {
  await opened.close();
  await gateway.close();
});

const sql: TestGateway['database']['sql'] = (text, values) => gateway.database.sql(text, values);
const { signal } = new AbortController();

/** Takes a step as if it were due; returns `undefined` if another process is taking one. */
async function step() {
  await sql(`update statistics set due_at = now()`);
  return takeStep(opened.fork(), signal);
}

/** Counts all records by whole tables, in the form of the stored counts. */
async function countDirectly(): Promise<Record<string, unknown>> {
  const rows = await sql(
    `select 'notifications/' || kind || '/' || status as name, count(*)::int as count from notification group by 1
     union all select 'workspaces/' || status, count(*)::int from workspace group by 1
     union all select 'editorCredentials/' || case when reauth_reason is null then 'connected' else 'needs_reauth' end
                      || '/' || key_id, count(*)::int from editor_credential where key_id is not null group by 1
     union all select 'deliveries/' || channel || '/' || case step when 'update' then 'delivered' else state end,
                      count(*)::int from delivery group by 1`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

async function readCounts(): Promise<unknown> {
  const [row] = await sql('select counts from statistics');
  return row?.counts;
}

const FIELDS = `notifications { kind status count } workspaces { status count } editorCredentials { state count }`;
const readStatistics = async () =>
  (await asPlatform(gateway, `{ platform { statistics { asOf ${FIELDS} } } }`)).platform.statistics;
const readDeliveries = async () =>
  (await asPlatform(gateway, '{ platform { statistics { asOf deliveries { channel state count } } } }'))
    .platform.statistics;

/** What senders and `retryDeliveries` do to deliveries, without a revision. */
const senders = fc.constantFrom(
  `set state = 'sending' where state = 'pending'`,
  `set state = 'delivered' where state = 'sending' and channel = 'email'`,
  `set state = 'failed' where state = 'sending' and channel <> 'email'`,
  `set state = 'pending', is_open = true where state = 'failed'`,
);
const changes = fc.oneof(
  { weight: 6, arbitrary: operations },
  fc.record({ what: fc.constant('deleteUser' as const), user: fc.nat(2) }),
  fc.record({ what: fc.constant('send' as const), update: senders }),
  fc.record({ what: fc.constant('step' as const) }),
);

test('after any concurrent changes and steps, a sweep makes the counts equal to those of whole tables', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { minLength: 30, maxLength: 60 }), async (sequence) => {
      runs += 1;
      const workload = new Workload(
        [gateway],
        [1, 2, 3].map((number) => `user-${runs}-${number}`),
      );
      for (const user of workload.users) await addTargets(gateway, user);
      await Promise.all(
        sequence.map(async (change, index) => {
          if (change.what === 'step') await step();
          else if (change.what === 'send') await sql(`update delivery ${change.update}`);
          else await runOperation(workload, change, index);
        }),
      );
      await updateStatistics(gateway.database);
      expect(await readCounts()).toEqual(await countDirectly());
    }),
    { numRuns: 5, endOnFailure: true },
  );
});

test('counts users with many records in several statements, and many users in several steps', async () => {
  await sql(
    `insert into user_revision (user_id, notifications) select 'u-' || n, 1 from generate_series(1, 1200) n`,
  );
  await sql(`insert into user_revision (user_id, notifications, workspaces) values ('heavy', 1, 1)`);
  await insertNotifications(gateway.database, 'heavy', 25_000);
  await insertWorkspaces(gateway.database, 'heavy', 12_000);
  await sql(
    `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at, updated_at)
     select 'heavy', 'n-' || n / 3, channel, '', channel, 'delivered', now(), now(), now(), now()
       from generate_series(1, 8000) n, unnest('{email,chat}'::text[]) channel
      where n % 3 = 0`,
  );
  await insertNotifications(gateway.database, 'u-7', 3);

  expect(await readStatistics()).toBeNull();
  expect(await step()).toBeDefined();
  expect(await readStatistics()).toBeNull();
  expect(await readDeliveries()).toBeNull();
  await updateStatistics(gateway.database);

  expect(await readCounts()).toEqual(await countDirectly());
  expect((await readStatistics()).notifications).toEqual([
    { kind: 'PLAN_REQUESTED', status: 'DISMISSED', count: 25_003 },
  ]);
});

test('asOf is when the latest complete sweep began, and the counts include all earlier changes', async () => {
  await publish(gateway, 'alice');
  const [{ before } = {}] = await sql(`select now() as before`);
  await updateStatistics(gateway.database);
  const first = await readStatistics();
  expect(Date.parse(first.asOf)).toBeGreaterThanOrEqual(Math.floor(Number(before)));
  expect(Date.parse(first.asOf)).toBeLessThanOrEqual(Date.now());
  expect((await readDeliveries()).asOf).toBe(first.asOf);

  await publish(gateway, 'alice');
  expect(await readStatistics()).toEqual(first);
  await updateStatistics(gateway.database);
  const second = await readStatistics();
  expect(Date.parse(second.asOf)).toBeGreaterThan(Date.parse(first.asOf));
  expect(second.notifications).toEqual([{ kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 2 }]);
});

test('a change that is committed while its user is counted is counted once', async () => {
  await publish(gateway, 'alice');
  const locker = new pg.Client({ connectionString: gateway.database.url });
  await locker.connect();
  await locker.query('begin; lock table notification in access exclusive mode');
  const counting = step();
  await eventually(async () => expect(await waitingSessions(gateway.database)).toBe(1));
  await locker.query(
    `update user_revision set notifications = 2;
     insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload, occurred_at, created_at, updated_at)
     values ('alice', 'n', 2, 'task_failed', 'active', 't', 'p', 'T', '{}', now(), now(), now());
     commit`,
  );
  await counting;
  await locker.end();

  await updateStatistics(gateway.database);
  expect(await readCounts()).toEqual(await countDirectly());
});

test('does not take a restored notification for one that its successor resolved in the same millisecond', async () => {
  const dependencies = {
    database: opened,
    announce: () => undefined,
    outbox: createOutbox(readConfig(settingsFor(gateway.database)).delivery),
  };
  const task = { id: 'task', projectId: 'project' };
  const { id } = await publish(gateway, 'restores', 'task_failed', { task });
  await dismiss(gateway, 'restores', [id]);
  await updateStatistics(gateway.database);
  const { createdAt } = await publish(gateway, 'restores', 'task_failed', { task });
  await restoreNotification(dependencies, 'restores', id, toTime(new Date(createdAt)));

  await updateStatistics(gateway.database);
  expect(await readCounts()).toEqual(await countDirectly());
});

test('reflects retention, the deletion of users, and users who are created again', async () => {
  for (const user of ['kept', 'deleted', 'again']) await publish(gateway, user);
  await sql(`insert into user_revision (user_id, notifications) values ('old', 1)`);
  await insertNotifications(gateway.database, 'old', 5);
  await updateStatistics(gateway.database);

  for (const user of ['deleted', 'again']) await deleteUser(gateway, user);
  await publish(gateway, 'again', 'task_failed');
  await deleteBatch({ database: opened, announce: () => undefined }, toTime(new Date(Date.now() + 60_000)));
  await updateStatistics(gateway.database);

  expect(await readCounts()).toEqual({
    'notifications/plan_requested/active': 1,
    'notifications/task_failed/active': 1,
  });
  expect(await readCounts()).toEqual(await countDirectly());
  const users = await sql('select user_id from user_statistics order by 1');
  expect(users.map(({ user_id }) => user_id)).toEqual(['again', 'kept', 'old']);
});

test('counts what senders and retries change without a revision', async () => {
  await addTargets(gateway, 'alice');
  await publish(gateway, 'alice');
  await sql(`update delivery set state = 'failed', is_open = false where channel = 'chat'`);
  await sql(`update delivery set state = 'sending' where channel = 'push'`);
  await updateStatistics(gateway.database);

  // Delivered before the next sweep, so no sweep sees the delivery pending.
  await retryDeliveries(opened.fork(), { channels: ['chat'] });
  await sql(`update delivery set state = 'delivered' where channel in ('chat', 'push')`);
  await updateStatistics(gateway.database);

  expect((await readDeliveries()).deliveries).toEqual([
    { channel: 'CHAT_DM', state: 'DELIVERED', count: 1 },
    { channel: 'EMAIL', state: 'PENDING', count: 1 },
    { channel: 'PUSH', state: 'DELIVERED', count: 1 },
  ]);
});

test('a credential that was re-encrypted is not unreadable to gateways without its old key', async () => {
  const pair = { accessToken: 'a', refreshToken: 'r' };
  for (const user of ['a', 'b'])
    await rest(gateway, 'PUT', '/editor/auth/subscription', { token: await member(user), body: pair });
  await updateStatistics(gateway.database);
  const other = randomBytes(32);
  const keys = `k2:${other.toString('base64')}`;
  const rotated = await startTestGateway({ ...settings, ENCRYPTION_KEYS: keys }, gateway.database);
  const read = async () =>
    (
      await asPlatform(rotated, `{ platform { statistics { ${FIELDS} } } }`)
    ).platform.statistics.editorCredentials.map(({ count }: { count: number }) => count);

  expect(await read()).toEqual([0, 0, 2]);
  await rotateKeys(
    opened.fork(),
    new Map([
      ['k2', createSecretKey(other)],
      ['k1', createSecretKey(key)],
    ]),
    () => undefined,
  );
  expect(await read()).toEqual([2, 0, 0]);
  await rotated.close();
});

test('counts every user again after six hours, even without a revision', async () => {
  await publish(gateway, 'alice');
  await updateStatistics(gateway.database);
  await sql(`delete from notification`);
  await updateStatistics(gateway.database);
  expect(await readCounts()).not.toEqual({});

  await sql(`update user_statistics set counted_at = now() - interval '6 hours 1 minute'`);
  await updateStatistics(gateway.database);
  expect(await readCounts()).toEqual({});
});

test('several processes share the steps of a sweep, and never wait for each other', async () => {
  await sql(
    `insert into user_revision (user_id, notifications) select 'u-' || n, 1 from generate_series(1, 2000) n`,
  );
  for (const user of ['u-1', 'u-1500']) await insertNotifications(gateway.database, user, 100);
  await sql(`update statistics set due_at = now()`);

  const results = await Promise.all(Array.from({ length: 6 }, () => takeStep(opened.fork(), signal)));
  expect(results.filter((result) => result !== undefined)).toHaveLength(1);
  // The rest after the step is not over.
  expect(await takeStep(opened.fork(), signal)).toBeUndefined();

  await Promise.all([1, 2, 3].map(() => updateStatistics(gateway.database)));
  expect(await readCounts()).toEqual({ 'notifications/plan_requested/dismissed': 200 });
});

test('a step that is killed changes nothing, and another process continues the sweep', async () => {
  await sql(
    `insert into user_revision (user_id, notifications) select 'u-' || n, 1 from generate_series(1, 700) n`,
  );
  for (const user of ['u-1', 'u-700']) await insertNotifications(gateway.database, user, 10);
  await step();
  const state = await sql('select counts, swept_to, sweep_started_at from statistics');
  expect(state[0]?.swept_to).not.toBe('');

  const locker = new pg.Client({ connectionString: gateway.database.url });
  await locker.connect();
  await locker.query('begin; lock table user_statistics in share mode');
  const killed = step();
  killed.catch(() => undefined);
  await eventually(async () => expect(await waitingSessions(gateway.database)).toBe(1));
  expect(await takeStep(opened.fork(), signal)).toBeUndefined();
  await sql(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'`);
  await expect(killed).rejects.toThrow();
  await locker.end();

  expect(await sql('select counts, swept_to, sweep_started_at from statistics')).toEqual(state);
  await updateStatistics(gateway.database);
  expect(await readCounts()).toEqual({ 'notifications/plan_requested/dismissed': 20 });
});

test('a gateway updates the statistics by itself', async () => {
  await publish(gateway, 'alice');
  await putWorkspaces(gateway, 'alice', [workspaceInput()]);
  await sql(`update statistics set due_at = now()`);
  const started = await startTestGateway(settings, gateway.database);
  const counts = await eventually(async () => {
    const statistics = await readStatistics();
    expect(statistics).not.toBeNull();
    return statistics;
  });
  await started.close();
  expect(counts).toMatchObject({
    notifications: [{ kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 1 }],
    workspaces: [{ status: 'RUNNING', count: 1 }],
  });
});
