import { createSecretKey, randomBytes } from 'node:crypto';
import { CompactEncrypt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { findPendingMigrations, readRequiredVersion } from '../../src/database/schema-compatibility.ts';
import { findUnsafeStatements } from '../../src/database/unsafe-statements.ts';
import { readCredential } from '../../src/editor-auth/editor-auth.ts';
import { storeRefreshedCredential } from '../../src/editor-auth/refresh-credential.ts';
import { createCredentialCipher } from '../../src/encryption/credential-cipher.ts';
import { entities } from '../../src/entities.ts';
import { Secret } from '../../src/values/secret.ts';
import { toTime } from '../../src/values/time.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { readSource } from '../support/imports.ts';
import { readReleases } from '../support/releases.ts';

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

/** The last migration that was written before the rules for migrations of tables in use. */
const LAST_UNCHECKED = 'Migration20261122175038_add_deliveries';

test('no migration blocks requests for long or fails them, except those from before the rules', async () => {
  const migrations = await recordStatements();
  const isChecked = ([name]: [string, ...unknown[]]) => name > LAST_UNCHECKED;
  const found = migrations.flatMap(([name, statements]) => {
    const unsafe = findUnsafeStatements(statements, name);
    return unsafe.map(({ statement, rule }): [string, string, string] => [
      name,
      statement,
      `${rule.reason} Instead: ${rule.instead}`,
    ]);
  });
  expect(found.filter(isChecked)).toEqual([]);
  expect([...new Set(found.map(([name]) => name))]).toEqual([
    'Migration20261122103000_epochs_and_opaque_versions',
    'Migration20261122104000_index_filters',
    'Migration20261122104948_order_in_time',
    'Migration20261122114000_drop_announcing_triggers',
    'Migration20261122115000_age_of_resolutions',
    'Migration20261122145638_claim_credential_refresh',
    'Migration20261122154500_index_projects_and_tasks',
  ]);
});

test('a migration requires a version that was released before, so that gateways of that version can serve meanwhile', async () => {
  const names = await schema.sql('select name from mikro_orm_migrations');
  const required = names.flatMap(({ name }) => readRequiredVersion(String(name)) ?? []);
  const released = readReleases().map(({ version }) => version);
  expect(required.filter((version) => !released.includes(version))).toEqual([]);
});

/** Applies all migrations to an empty database, and returns the statements that each executes. */
async function recordStatements(): Promise<[string, string[]][]> {
  const empty = await createEmptyDatabase();
  const { orm, close } = await openDatabase({ url: empty.url, poolSize: 1, timeoutMs: 5000 });
  try {
    const migrations: [string, string[]][] = [];
    orm.migrator.on('migrating', ({ name }) => void migrations.push([name, []]));
    orm.config.set('onQuery', (sql) => {
      const [name = '', statements] = migrations.at(-1) ?? [];
      if (!isOfIndexMigration(name, sql)) statements?.push(sql);
      return sql;
    });
    await orm.migrator.up();
    return migrations;
  } finally {
    await close();
    await empty.drop();
  }
}

/** Whether a statement is one of those to which an `IndexMigration` adds what makes them safe. */
function isOfIndexMigration(name: string, sql: string): boolean {
  return (
    /^(create (unique )?|drop )index concurrently if /.test(sql) &&
    readSource(`src/database/migrations/${name}.ts`).includes(' extends IndexMigration {')
  );
}

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
  expect(columns.map(({ tableName, column }) => `${tableName}.${column}`).sort()).toEqual([
    'delivery.channel',
    'delivery.reason',
    'delivery.state',
    'delivery.step',
    'editor_credential.reauth_reason',
    'notification.kind',
    'notification.request_state',
    'notification.resolved_by',
    'notification.status',
    'notification_preference.notification_kind',
    'platform_event.channel',
    'platform_event.type',
    'task_resolution.kind',
    'task_resolution.resolved_by',
    'workspace.status',
  ]);
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

test('a credential stored with a numeric version can be read, and refreshed with that version', async () => {
  const older = await createEmptyDatabase();
  const opened = await openDatabase({ url: older.url, poolSize: 1, timeoutMs: 5000 });
  try {
    await opened.orm.migrator.up({ to: 'Migration20261121212542_initial' });
    const key = createSecretKey(randomBytes(32));
    const pair = { accessToken: 'access', refreshToken: 'refresh' };
    const ciphertext = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(pair)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: 'key', user: 'alice', version: 3 })
      .encrypt(key);
    await older.sql(
      `insert into editor_credential (user_id, version, ciphertext, key_id, created_at, updated_at)
       values ('alice', 3, $1, 'key', now(), now())`,
      [ciphertext],
    );

    await migrate(older.url);

    const cipher = createCredentialCipher(new Map([['key', key]]));
    const read = await readCredential(opened, cipher, 'alice');
    expect([read?.version, read?.accessToken.reveal(), read?.refreshToken?.reveal()]).toEqual([
      '3',
      'access',
      'refresh',
    ]);
    const refreshed = {
      accessToken: new Secret('next-access'),
      refreshToken: new Secret('next-refresh'),
      expiresAt: null,
    };
    const owner = { userId: 'alice', version: '3' };
    const now = toTime(new Date());
    const dependencies = { database: opened, announce: () => undefined };
    const version = await storeRefreshedCredential(dependencies, cipher, { ...owner, ...refreshed }, now);
    expect((await readCredential(opened, cipher, 'alice'))?.version).toBe(version);
  } finally {
    await opened.close();
    await older.drop();
  }
});
