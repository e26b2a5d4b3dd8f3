import type { EntityProperty } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { SecretType } from '../../src/database/columns.ts';
import { getKysely, openDatabase } from '../../src/database/database.ts';
import { userTransaction } from '../../src/database/transaction.ts';
import { entities, revisionedEntities } from '../../src/entities.ts';
import { NotificationPreference } from '../../src/notifications/preferences/preference.entity.ts';
import { UserRevision } from '../../src/revisions/revisions.entity.ts';
import { Secret } from '../../src/values/secret.ts';
import type { Time } from '../../src/values/time.ts';
import { openTestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startProxy } from '../support/proxy.ts';

const { database, opened, locker, close } = await openTestDatabase(6);
afterAll(close);

const TOKEN = 'SECRET-token-0123456789';
const UUID = '5f0c2f0e-0000-4000-8000-000000000001';
const time: Time = '2026-05-04T10:00:00.340Z';
const times = { createdAt: time, updatedAt: time };

type Values = Readonly<Record<string, unknown>>;

/** Two values of each type of column. */
const examples: Readonly<Record<string, readonly [unknown, unknown]>> = {
  'varchar(255)': ["o'hara\u{1f600}", '\\'],
  text: ["it's", '?'],
  uuid: [UUID, UUID.replace('5f', '6f')],
  boolean: [true, false],
  int: [0, 2_147_483_647],
  smallint: [57, 0],
  // More than a 32-bit integer.
  bigint: [5_000_000_000, 1],
  'timestamptz(3)': ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
  json: [
    { b: "it's", a: [1, { z: true, b: '?' }], c: null },
    { z: 1, a: 2 },
  ],
  jsonb: [{ a: [] }, { b: { c: "it's" } }],
};

/** Returns values of properties: others with `which` 1, which are null where they may be. */
function record(props: readonly EntityProperty[], which: 0 | 1): Values {
  const values = props.map(({ name, primary, nullable, items, columnTypes: [type = ''], customType }) => {
    const value = (items ?? examples[type] ?? expect.unreachable(`a column of type ${type}`))[
      primary ? 0 : which
    ];
    if (nullable && which === 1) return [name, null];
    return [name, customType instanceof SecretType ? new Secret(TOKEN) : value];
  });
  return Object.fromEntries(values);
}

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
    onTestFinished(() => unguarded.close());
    unguarded.orm.config.set('subscribers', []);
    const fork = () => unguarded.orm.em.fork({ freshEventManager: true });
    const {
      class: Entity,
      tableName,
      props,
      primaryKeys,
    } = unguarded.orm.getMetadata().getByClassName(className);
    const stored = record(props, 0);
    // Some tables have one row.
    await database.sql(`delete from ${tableName}`);
    const load = async (em = fork()) => {
      const entity = await em.findOneOrFail(
        Entity,
        Object.fromEntries(primaryKeys.map((name) => [name, stored[name]])),
      );
      return { entity, values: reveal(Object.fromEntries(props.map(({ name }) => [name, entity[name]]))) };
    };

    const creating = fork();
    creating.create(Entity, { ...stored });
    await creating.flush();
    // As text, because the order of an object's keys is kept.
    expect(JSON.stringify((await load()).values)).toBe(JSON.stringify(reveal(stored)));

    for (const change of [record(props, 1), stored]) {
      const changing = fork();
      Object.assign((await load(changing)).entity, change);
      await changing.flush();
      expect(JSON.stringify((await load()).values)).toBe(JSON.stringify(reveal(change)));
    }
  },
);

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
    const { class: Entity, primaryKeys, props } = opened.orm.getMetadata().getByClassName(className);
    const other = { ...record(props, 0), [primaryKeys[0] ?? '']: 'other' };
    const count = () => opened.fork().count(Entity);
    const before = await count();

    const refused = async (work: (em: EntityManager) => unknown) => {
      const em = opened.fork();
      const storing = Promise.resolve(work(em)).then(() => em.flush());
      await expect(storing).rejects.toThrow(`${className} has a revision`);
    };
    await refused((em) => em.create(Entity, other));
    await refused((em) => em.upsert(Entity, other));
    await refused((em) => em.upsertMany(Entity, [other]));
    await refused(async (em) => Object.assign((await em.find(Entity, {}))[0], record(props, 1)));
    await refused(async (em) => em.remove((await em.find(Entity, {}))[0]));
    expect(await count()).toBe(before);
  },
);

test('`userTransaction` serializes changes of a user, stores the entities, and creates the revision', async () => {
  const store = () =>
    userTransaction(opened.fork(), ['serialized'], async (em) => {
      const isLater = (await em.count(NotificationPreference, { userId: 'serialized' })) > 0;
      em.create(NotificationPreference, {
        userId: 'serialized',
        notificationKind: isLater ? 'task_failed' : 'task_response_ready',
        emailEnabled: true,
        pushEnabled: true,
        chatDmEnabled: true,
        ...times,
      });
    });
  await Promise.all([store(), store()]);
  expect(await opened.fork().count(NotificationPreference, { userId: 'serialized' })).toBe(2);
  expect(await opened.fork().count(UserRevision, { userId: 'serialized' })).toBe(1);
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
    await locker.query(`savepoint probe; set local lock_timeout = '50ms'`);
    const inserting = locker.query('insert into user_revision (user_id) values ($1)', [user]);
    const [{ status }] = await Promise.allSettled([inserting]);
    await locker.query('rollback to probe');
    return status === 'rejected';
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
    onTestFinished(async () => {
      await single.close();
      await proxy.close();
    });
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
  },
);
