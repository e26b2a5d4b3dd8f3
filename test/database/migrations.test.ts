import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { Migration20261125220000_add_platform_events } from '../../src/database/migrations/Migration20261125220000_add_platform_events.ts';
import {
  findPendingMigrations,
  findSchemaProblem,
  readRequiredVersion,
} from '../../src/database/schema-compatibility.ts';
import { entities } from '../../src/entities.ts';
import { OperatorError } from '../../src/errors/failure.ts';
import { compareVersions, version } from '../../src/version.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

let schema: TestDatabase;
let database: Database;

beforeAll(async () => {
  schema = await createEmptyDatabase();
  database = await openDatabase({ url: schema.url, poolSize: 1, timeoutMs: 5000 });
});
afterAll(async () => {
  await database.close();
  await schema.drop();
});

const tables = entities.map(({ meta }) => meta);

test('migrating reports the applied migrations, and concurrent runs apply each only once', async () => {
  const pending = await findPendingMigrations(database);
  expect(pending).not.toEqual([]);
  const applied = await Promise.all([migrate(schema.url), migrate(schema.url)]);
  expect(applied.sort((left, right) => left.length - right.length)).toEqual([[], pending]);
  expect(await findPendingMigrations(database)).toEqual([]);
});

test('the first migration after a release requires its minor version, so that earlier gateways stop serving', async () => {
  const names = await schema.sql('select name from mikro_orm_migrations order by name');
  const [ofRelease, ...required] = names.map(({ name }) => readRequiredVersion(String(name)));
  expect([ofRelease, required[0]]).toEqual([undefined, '0.4.0']);
  const isLater = (required: string | undefined) =>
    required !== undefined && compareVersions(required, version) > 0;
  expect(required.filter(isLater)).toEqual([]);
});

describe('a database of an earlier version', () => {
  let earlier: TestDatabase;
  beforeEach(async () => {
    earlier = await createEmptyDatabase();
    await migrate(earlier.url, { migrations: [Migration20261125220000_add_platform_events] });
  });
  afterEach(() => earlier.drop());

  const store = (id: string, columns: Record<string, unknown>) => {
    const ids = { user_id: 'alice', id, task_id: id, project_id: 'p' };
    const kind = { revision: 1, kind: 'plan_requested', status: 'active', title: 'T', payload: {} };
    const row = { ...ids, ...kind, occurred_at: at(1), created_at: at(1), updated_at: at(1), ...columns };
    return earlier.sql(
      `insert into notification (${Object.keys(row).join()})
       values (${Object.keys(row).map((_, index) => `$${index + 1}`)})`,
      Object.values(row),
    );
  };
  const at = (minute: number) => `2026-11-20T10:0${minute}:00.000Z`;
  const dismissed = { status: 'dismissed', dismissed_at: at(2) };
  const resolved = { status: 'resolved', resolved_at: at(2) };
  const answered = { ...resolved, resolved_by: 'answered' };

  test('0.3.0: gets what 0.2.0 did not store, and superseded requests are withdrawn with an event', async () => {
    await earlier.sql(`insert into user_revision (user_id, notifications) values ('alice', 7)`);
    await store('active plan', {});
    await store('active failure', { kind: 'task_failed' });
    await store('active response', { kind: 'task_response_ready', payload: { taskStatus: 'errored' } });
    await store('active reply', { kind: 'task_response_ready', payload: { taskStatus: 'awaiting_input' } });
    await store('dismissed plan', dismissed);
    await store('resolved plan', { ...answered, skipped_channels: 5 });
    await store('answered', { ...answered, request_state: 'answered', skipped_channels: 5 });
    await store('expired', { ...resolved, request_state: 'expired' });
    await store('left open', { ...resolved, resolved_by: 'resumed', request_state: 'open' });
    await store('open', { ...dismissed, request_state: 'open' });
    await store('replaced', { ...dismissed, request_state: 'open', task_id: 'replaced' });
    await store('successor', {
      task_id: 'replaced',
      request_state: 'open',
      occurred_at: at(3),
      created_at: at(4),
    });
    await earlier.sql(
      `insert into task_resolution (user_id, task_id, kind, resolved_before, resolved_by, updated_at)
       values ('alice', 't', 'task_failed', now(), 'answered', now())`,
    );
    await earlier.sql(
      `insert into delivery (user_id, notification_id, channel, target, provider, state, reason, due_at, first_due_at,
                             expires_at, created_at, updated_at)
       values ('alice', 'a', 'chat', '', 'chat', 'pending', 'reply_lost', now(), null, now(), now(), now()),
              ('alice', 'b', 'chat', '', 'chat', 'pending', null, now(), now() - interval '1 h', now(), now(), now())`,
    );

    await migrate(earlier.url);

    const rows = await earlier.sql(
      `select id, concat_ws(' ', request_state, resolution, skipped_channels) as stored from notification order by id`,
    );
    expect(Object.fromEntries(rows.map(({ id, stored }) => [id, stored]))).toEqual({
      'active failure': 'none 0',
      'active plan': 'open 0',
      'active reply': 'open 0',
      'active response': 'none 0',
      answered: 'answered answered 5',
      'dismissed plan': 'none 0',
      expired: 'expired expired 0',
      'left open': 'withdrawn resumed 0',
      open: 'open 0',
      replaced: 'withdrawn superseded 0',
      'resolved plan': 'none answered_elsewhere 5',
      successor: 'open 0',
    });
    expect(
      await earlier.sql(
        `select revision::int, notifications::int, resolved_at = created_at + interval '3 min' as at,
                updated_at > created_at as "isUpdated"
           from notification join user_revision using (user_id) where id = 'replaced'`,
      ),
    ).toEqual([{ revision: 8, notifications: 8, at: true, isUpdated: true }]);
    expect(await earlier.sql('select type, notification_id as id, task_id from platform_event')).toEqual([
      { type: 'notification.withdrawn', id: 'replaced', task_id: 'replaced' },
    ]);
    expect(await earlier.sql('select resolution from task_resolution')).toEqual([
      { resolution: 'answered_elsewhere' },
    ]);
    expect(
      await earlier.sql(
        `select notification_id as id, may_be_delivered, first_due_at = due_at as "isFirst" from delivery order by 1`,
      ),
    ).toEqual([
      { id: 'a', may_be_delivered: true, isFirst: true },
      { id: 'b', may_be_delivered: false, isFirst: false },
    ]);
  });

  test('before 0.3.0: is refused, and remains as it is', async () => {
    const name = 'Migration20261122175038_add_deliveries';
    await earlier.sql('update mikro_orm_migrations set name = $1', [name]);
    const opened = await openDatabase({ url: earlier.url, poolSize: 1, timeoutMs: 5000 });
    const refusal =
      'The database has the schema of a version before 0.3.0. Upgrade to 0.3.0 first: run npm run migrate of that version.';

    expect(await findSchemaProblem(opened)).toBe(refusal);
    await expect(migrate(earlier.url)).rejects.toThrow(new OperatorError(refusal));

    expect(await earlier.sql('select name from mikro_orm_migrations')).toEqual([{ name }]);
    await opened.close();
  });
});

test('the migrated schema matches the entities', async () => {
  expect(await database.orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe('');
});

test('every table of records, except the events of all users, has a primary key that starts with the user', async () => {
  const keys = await schema.sql(`
    select conrelid::regclass::text as name, attname as first
    from pg_constraint join pg_attribute on attrelid = conrelid and attnum = conkey[1]
    where contype = 'p' and connamespace = 'public'::regnamespace and conrelid not in ('mikro_orm_migrations'::regclass, 'database_epoch'::regclass, 'platform_event'::regclass, 'platform_feed'::regclass, 'statistics'::regclass)
    order by 1`);
  const names = tables
    .map(({ tableName }) => tableName)
    .filter((name) => !['database_epoch', 'platform_event', 'platform_feed', 'statistics'].includes(name))
    .sort();
  expect(keys).toEqual(names.map((name) => ({ name, first: 'user_id' })));
});

test('a notification has at most ten indexes, of which an active one that is no request is in seven', async () => {
  await insertRecords(schema, 'notification', 1, { kind: "'task_failed'", status: "'active'" });
  const indexes = await schema.sql(
    `select relname as name, coalesce(pg_get_expr(indpred, indrelid), 'true') as condition
       from pg_index join pg_class on pg_class.oid = indexrelid where indrelid = 'notification'::regclass order by 1`,
  );
  expect(indexes.length).toBeLessThanOrEqual(10);
  // docs/data-access.md says what reads each of them.
  const documented = readFileSync('docs/data-access.md', 'utf8').matchAll(/^\| `(notification_\w+)` +\|/gm);
  expect(Array.from(documented, ([, name]) => name).sort()).toEqual(indexes.map(({ name }) => name));
  const conditions = indexes.map(({ condition }) => `(${condition})::int`);
  const [row] = await schema.sql(`delete from notification returning ${conditions.join(' + ')} as inserted`);
  expect(row?.inserted).toBeLessThanOrEqual(7);
});

test('every timestamp column is a timestamptz(3)', async () => {
  const types = await schema.sql(`
    select distinct format_type(atttypid, atttypmod) as type
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'mikro_orm_migrations'
      and atttypid in ('timestamp'::regtype, 'timestamptz'::regtype, 'date'::regtype, 'time'::regtype)`);
  expect(types).toEqual([{ type: 'timestamp(3) with time zone' }]);
});

test("IDs are compared by code point, independent of the database's collation", async () => {
  const collations = await schema.sql(`
    select distinct collation_name as name from information_schema.columns
    where table_schema = 'public' and data_type = 'character varying' and table_name <> 'mikro_orm_migrations'`);
  expect(collations).toEqual([{ name: 'C' }]);
});

test('every enum column has a check constraint on its values', async () => {
  const columns = [...database.orm.getMetadata().getAll().values()].flatMap(({ tableName, props }) =>
    props.flatMap(({ enum: isList, fieldNames }) => (isList ? [{ tableName, column: fieldNames[0] }] : [])),
  );
  expect(columns.length).toBeGreaterThan(10);
  for (const { tableName, column } of columns) {
    // Evaluates only the constraint: an insert would also need to satisfy all others.
    const name = `${tableName}_${column}_check`;
    const [{ rule } = {}] = await schema.sql(
      `select pg_get_expr(conbin, conrelid) as rule from pg_constraint
       where contype = 'c' and conrelid = $1::regclass and conname = $2`,
      [tableName, name],
    );
    const allowed = await schema.sql(
      `select ${rule} as allowed from (select 'other'::text as ${column}) as row`,
    );
    expect({ name, allowed }).toEqual({ name, allowed: [{ allowed: false }] });
  }
});
