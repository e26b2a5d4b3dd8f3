import type { EntityProperty } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { SecretType } from '../../src/database/columns.ts';
import { openDatabase } from '../../src/database/database.ts';
import { entities, revisionedEntities } from '../../src/entities.ts';
import { Secret } from '../../src/values/secret.ts';
import { openTestDatabase } from '../support/database.ts';

const { database, opened, close } = await openTestDatabase(6);
afterAll(close);

const TOKEN = 'SECRET-token-0123456789';
const UUID = '5f0c2f0e-0000-4000-8000-000000000001';

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
