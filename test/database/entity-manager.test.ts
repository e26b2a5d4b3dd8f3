import { inspect } from 'node:util';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, getKysely, openDatabase } from '../../src/database/database.ts';
import { userTransaction } from '../../src/database/transaction.ts';
import { entities, revisionedEntities } from '../../src/entities.ts';
import { NotificationPreference } from '../../src/notifications/preferences/preference.entity.ts';
import { UserRevision } from '../../src/revisions/revisions.entity.ts';
import { Secret } from '../../src/values/secret.ts';
import type { Time } from '../../src/values/time.ts';
import { Workspace } from '../../src/workspaces/workspace.entity.ts';
import { openTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startProxy } from '../support/proxy.ts';

let database: TestDatabase;
let opened: Database;
let locker: pg.Client;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ database, opened, locker, close } = await openTestDatabase(6));
});
afterAll(() => close());

const TOKEN = 'SECRET-token-0123456789';
const UUID = '5f0c2f0e-0000-4000-8000-000000000001';
const early: Time = '0001-01-01T00:00:00.000Z';
const time: Time = '2026-05-04T10:00:00.340Z';
const late: Time = '9999-12-31T23:59:59.999Z';
/** More than a 32-bit integer. */
const BIG = 5_000_000_000;
const times = { createdAt: time, updatedAt: late };

type Values = Readonly<Record<string, unknown>>;

/** A record of each entity, and a change of it. Together they set every property, nullable ones to both. */
const examples: Readonly<Record<string, [record: Values, change: Values]>> = {
  UserRevision: [
    { userId: 'é\u{1f600}', epoch: UUID, notifications: BIG, workspaces: 1, editorAuth: 0 },
    { notifications: BIG + 1 },
  ],
  Notification: [
    {
      userId: "o'hara",
      id: '\\',
      revision: BIG,
      kind: 'plan_requested',
      status: 'active',
      resolution: null,
      taskId: 't',
      byTask: false,
      toolId: null,
      taskName: null,
      projectId: 'p',
      projectName: 'P?',
      projectRepoUrl: null,
      workspaceId: UUID,
      title: 'T',
      previewText: null,
      prUrl: null,
      payload: { toolId: 'x', input: { plan: "it's", summary: null, a: [1, { z: true, b: '?' }] } },
      skippedChannels: 0,
      occurredAt: early,
      ...times,
      resolvedAt: null,
      dismissedAt: time,
      slot: 'tool:x',
      requestState: 'open',
      expiresAt: late,
      expiresInSeconds: 60,
      onExpiry: { plan: { decision: 'reject', feedback: null }, answerId: null, by: null, via: 'default' },
      answer: null,
      receipt: null,
    },
    {
      requestState: 'answered',
      answer: { plan: { decision: 'approve', feedback: "it's" }, answerId: 'a', by: "o'hara", via: 'rest' },
      receipt: { outcome: 'refused', message: '?', at: time },
      onExpiry: null,
      payload: { toolId: 'y', input: { z: 1, a: 2 } },
      skippedChannels: 57,
      byTask: true,
      toolId: 'y',
      resolvedAt: late,
      dismissedAt: null,
      taskName: 'N',
    },
  ],
  TaskResolution: [
    {
      userId: 'a',
      taskId: 't',
      kind: 'task_failed',
      resolvedUpTo: time,
      resolution: 'answered',
      updatedAt: late,
    },
    { resolvedUpTo: late },
  ],
  NotificationPreference: [
    {
      userId: 'a',
      notificationKind: 'task_failed',
      emailEnabled: true,
      pushEnabled: false,
      chatDmEnabled: true,
      ...times,
    },
    { emailEnabled: false, updatedAt: early },
  ],
  EditorCredential: [
    {
      userId: 'a',
      version: UUID,
      refreshedFrom: null,
      ciphertext: 'c',
      expiresAt: early,
      keyId: 'k',
      reauthReason: null,
      claimId: 'claim',
      claimedUntil: time,
      ...times,
    },
    { reauthReason: 'token_expired', refreshedFrom: 'v', claimId: null, claimedUntil: null },
  ],
  Workspace: [
    {
      userId: 'a',
      id: UUID,
      revision: BIG,
      projectId: 'p',
      status: 'running',
      cpuKind: 'shared',
      cpus: 1,
      memoryMb: 2,
      volumeSizeGb: 3,
      gpuKind: null,
      keepActive: false,
      machineId: null,
      privateIp: null,
      gitRef: null,
      previewToken: new Secret(TOKEN),
      errorMessage: null,
      ...times,
    },
    { previewToken: null, keepActive: true, revision: BIG + 1 },
  ],
  WorkspaceDeletion: [{ userId: 'a', id: UUID, deletedAt: time, revision: BIG }, { deletedAt: late }],
  Contact: [
    {
      userId: 'a',
      email: "o'hara@example.com",
      emailSuspendedAt: null,
      chatMemberId: null,
      chatSuspendedAt: time,
      ...times,
    },
    { email: null, emailSuspendedAt: late, chatSuspendedAt: null },
  ],
  PushSubscription: [
    { userId: 'a', id: 's', host: 'h', ciphertext: 'c', keyId: 'k', ...times },
    { ciphertext: 'd' },
  ],
  Delivery: [
    {
      userId: 'a',
      notificationId: 'n',
      channel: 'email',
      target: '',
      provider: 'email',
      state: 'pending',
      step: 'message',
      isOpen: true,
      dueAt: time,
      firstDueAt: time,
      expiresAt: late,
      claims: 0,
      attempts: 0,
      mayBeDelivered: false,
      reason: null,
      providerCode: null,
      receipt: null,
      ...times,
      deliveredAt: null,
    },
    {
      state: 'delivered',
      isOpen: false,
      firstDueAt: time,
      mayBeDelivered: true,
      claims: 1,
      deliveredAt: time,
      reason: 'settled',
      receipt: 'r',
    },
  ],
  Statistics: [
    { isOnly: true, counts: null, asOf: null, dueAt: late },
    {
      counts: {
        deliveries: [],
        workspaces: [{ count: 1, status: 'running' }],
        notifications: [],
        editorCredentials: [],
      },
      asOf: early,
    },
  ],
  PlatformEvent: [
    {
      id: BIG,
      position: null,
      userId: "o'hara",
      type: 'notification.answered',
      notificationId: 'n',
      taskId: 't',
      credentialVersion: null,
      channel: null,
      at: time,
    },
    { position: BIG + 1, type: 'contact.suspended', notificationId: null, taskId: null, channel: 'chat' },
  ],
  PlatformFeed: [
    { isOnly: true, lastPosition: 0, deletedTo: 0 },
    { lastPosition: BIG, deletedTo: 1 },
  ],
  DatabaseEpoch: [{ isOnly: true, epoch: UUID }, { epoch: UUID.replace('5f', '6f') }],
};

/** Reveals secrets, because their content is not compared otherwise. */
const reveal = (values: Values) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value instanceof Secret ? { secret: value.reveal() } : value,
    ]),
  );

test.each(entities.map(({ meta }) => meta.className))(
  '%s: an entity is loaded and changed with the values that were stored',
  async (className) => {
    const unguarded = await openDatabase({ url: database.url, poolSize: 1, timeoutMs: 5000 });
    unguarded.orm.config.set('subscribers', []);
    const fork = () => unguarded.orm.em.fork({ freshEventManager: true });
    try {
      const {
        class: Entity,
        tableName,
        props,
        primaryKeys,
      } = unguarded.orm.getMetadata().getByClassName(className);
      const [record, change] = examples[className] ?? expect.unreachable();
      const names = props.map(({ name }) => name).sort();
      expect(Object.keys(record).sort(), `the properties of ${className} in \`examples\``).toEqual(names);
      if (primaryKeys.includes('isOnly')) {
        // These tables have one row.
        await database.sql(`delete from ${tableName}`);
      }
      const key = Object.fromEntries(primaryKeys.map((name) => [name, record[name]]));
      const load = async (em = fork()) => {
        const entity = await em.findOneOrFail(Entity, key);
        return { entity, values: reveal(Object.fromEntries(props.map(({ name }) => [name, entity[name]]))) };
      };

      const creating = fork();
      creating.create(Entity, { ...record });
      await creating.flush();
      expect((await load()).values).toStrictEqual(reveal(record));

      const changing = fork();
      Object.assign((await load(changing)).entity, change);
      await changing.flush();
      const { values } = await load();
      expect(values).toStrictEqual(reveal({ ...record, ...change }));
      expect(JSON.stringify(values)).toBe(JSON.stringify(reveal(orderBy(props, { ...record, ...change }))));
    } finally {
      await unguarded.close();
    }
  },
);

const orderBy = (props: readonly { name: string }[], values: Values) =>
  Object.fromEntries(props.map(({ name }) => [name, values[name]]));

test('loading an entity without changing it stores nothing', async () => {
  const em = opened.fork();
  for (const { meta } of entities) await em.find(meta.class, {});
  expect(em.getUnitOfWork().getIdentityMap().keys().length).toBe(entities.length);
  em.getUnitOfWork().computeChangeSets();
  expect(em.getUnitOfWork().getChangeSets()).toEqual([]);
});

test.each(revisionedEntities.map(({ meta }) => meta.className))(
  '%s has a revision, so flushes and upserts of it are rejected',
  async (className) => {
    const { class: Entity, primaryKeys } = opened.orm.getMetadata().getByClassName(className);
    const [record, change] = examples[className] ?? expect.unreachable();
    const [first = ''] = primaryKeys;
    const other = { ...record, [first]: 'other' };
    const rejected = `${className} has a revision`;
    const count = () => opened.fork().count(Entity);
    const before = await count();

    const creating = opened.fork();
    creating.create(Entity, other);
    await expect(creating.flush()).rejects.toThrow(rejected);
    await expect(opened.fork().upsert(Entity, other)).rejects.toThrow(rejected);
    await expect(opened.fork().upsertMany(Entity, [other])).rejects.toThrow(rejected);
    const changing = opened.fork();
    const [loaded] = await changing.find(Entity, {});
    Object.assign(loaded, className === 'UserRevision' ? { notifications: 7 } : change, { ...times });
    Object.assign(loaded, { revision: 7, deletedAt: early, version: '7', cpus: 7 });
    await expect(changing.flush()).rejects.toThrow(rejected);
    const removing = opened.fork();
    const [removed] = await removing.find(Entity, {});
    await expect(removing.remove(removed).flush()).rejects.toThrow(rejected);
    expect(await count()).toBe(before);
  },
);

test('a loaded secret is not printed', async () => {
  await database.sql('update workspace set preview_token = $1', [TOKEN]);
  const workspace = await opened.fork().findOneOrFail(Workspace, { userId: 'a' });
  expect(workspace.previewToken?.reveal()).toBe(TOKEN);
  for (const text of [
    JSON.stringify(workspace),
    JSON.stringify({ workspace }),
    inspect(workspace, { depth: null }),
    inspect([workspace], { depth: null, showHidden: true, getters: true }),
    `${workspace}`,
  ]) {
    expect(text).not.toContain(TOKEN);
  }
});

const store = (user: string) =>
  userTransaction(opened.fork(), [user], async (em) => {
    const emailEnabled = (await em.count(NotificationPreference, { userId: user })) > 0;
    const kinds = ['task_failed', 'task_response_ready'] as const;
    const notificationKind = kinds[Number(emailEnabled)] ?? expect.unreachable();
    em.create(NotificationPreference, {
      userId: user,
      notificationKind,
      emailEnabled,
      pushEnabled: true,
      chatDmEnabled: true,
      ...times,
    });
  });

test('`userTransaction` serializes changes of a user, stores the entities, and creates the revision', async () => {
  await Promise.all([store('serialized'), store('serialized')]);
  const stored = await opened.fork().find(NotificationPreference, { userId: 'serialized' });
  expect(stored.map(({ emailEnabled }) => emailEnabled).sort()).toEqual([false, true]);
  expect(await opened.fork().findOne(UserRevision, { userId: 'serialized' })).toMatchObject({
    workspaces: 0,
  });
});

test('`userTransaction` locks users in the order of their IDs, and runs `work` only with all locks', async () => {
  await locker.query('begin');
  await locker.query(`insert into user_revision (user_id) values ('lock-b')`);
  let hasStarted = false;
  const users = ['lock-c', 'lock-b', 'lock-a', 'lock-b'];
  const waiting = userTransaction(opened.fork(), users, async () => {
    hasStarted = true;
  });
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  expect(hasStarted).toBe(false);
  const isLocked = async (user: string) => {
    const insert = 'insert into user_revision (user_id) values ($1)';
    await locker.query('savepoint probe');
    await locker.query(`set local lock_timeout = '50ms'`);
    const failed = await locker.query(insert, [user]).then(
      () => false,
      () => true,
    );
    await locker.query('rollback to probe');
    return failed;
  };
  expect([await isLocked('lock-a'), await isLocked('lock-c')]).toEqual([true, false]);
  await locker.query('rollback');
  await waiting;
  expect(hasStarted).toBe(true);
});

test('`userTransaction` stores nothing if `work` rejects', async () => {
  const work = userTransaction(opened.fork(), ['failing'], async (em) => {
    await getKysely(em)
      .insertInto('Contact')
      .values({ userId: 'failing', ...times })
      .execute();
    throw new Error('no');
  });
  await expect(work).rejects.toThrow('no');
  expect(await database.sql(`select from contact where user_id = 'failing'`)).toEqual([]);
  expect(await database.sql(`select from user_revision where user_id = 'failing'`)).toEqual([]);
});

test.each([
  ['begin', 'refuse'],
  ['begin', 'stall'],
  ['rollback', 'refuse'],
  ['rollback', 'stall'],
] as const)(
  'a transaction whose connection is lost before %s (%s) returns it to the pool',
  async (at, state) => {
    const behindProxy = new URL(database.url);
    const proxy = await startProxy(Number(behindProxy.port));
    behindProxy.port = String(proxy.port);
    const single = await openDatabase({ url: behindProxy.href, poolSize: 1, timeoutMs: 300 });
    const count = () => single.fork().transactional((em) => em.count(UserRevision));
    try {
      await count();
      if (at === 'begin') {
        await proxy.setState(state);
        await expect(count()).rejects.toThrow();
      } else {
        const work = single.fork().transactional(async () => {
          await proxy.setState(state);
          throw new Error('no');
        });
        await expect(work).rejects.toThrow('no');
      }
      await proxy.setState('open');
      await eventually(async () => expect(await count()).toBeGreaterThan(0));
      expect(single.pools().find(({ name }) => name === 'main')).toMatchObject({ used: 0, pending: 0 });
    } finally {
      await single.close();
      await proxy.close();
    }
  },
);
