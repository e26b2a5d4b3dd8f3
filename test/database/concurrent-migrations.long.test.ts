import { Migration } from '@mikro-orm/migrations';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IndexMigration } from '../../src/database/index-migration.ts';
import { migrate } from '../../src/database/migrate.ts';
import { OperatorError } from '../../src/errors/failure.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { createTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const replaceIndex = 'Migration20990101000001_replace_index';
const addColumn = 'Migration20990101000002_add_column';

class ReplaceIndex extends IndexMigration {
  override name = replaceIndex;
  override create = [{ name: 'workspace_by_ref', on: `"workspace" ("user_id", "git_ref")` }];
  override drop = ['workspace_newest'];
}

class AddColumn extends Migration {
  override name = addColumn;
  override up(): void {
    this.addSql(`alter table "workspace" add column "zone" text null;`);
  }
}

class BreakTable extends Migration {
  override name = 'Migration20990101000003_break_table';
  override up(): void {
    this.addSql(`alter table "workspace" add column "rack" text null;`);
    this.addSql(`alter table "no_table" add column "rack" text null;`);
  }
}

let database: TestDatabase;
/** A session that begins transactions. */
let session: pg.Client;
let lines: string[];

beforeEach(async () => {
  database = await createTestDatabase();
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
  lines = [];
});
afterEach(async () => {
  await session.end();
  await database.drop();
});

const printLine = (line: string) => void lines.push(line);

/** Begins a transaction that reads workspaces, and so has a snapshot and a lock until it ends. */
async function beginReading(): Promise<void> {
  await session.query('begin isolation level repeatable read');
  await session.query('select from workspace');
}

/** Stores a workspace, within a time that a request could wait. */
const storeWorkspace = () => insertRecords(database, 'workspace', 1, { user_id: "'alice'" });

/** Returns whether an index is valid; undefined if it does not exist. */
async function readValidity(name: string): Promise<unknown> {
  const [index] = await database.sql(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  );
  return index?.valid;
}

/** Resolves when a session waits for the end of a transaction. */
const untilWaiting = () => eventually(async () => expect(await waitingSessions(database)).toBe(1));

const untilPrinted = (line: unknown) => eventually(() => expect(lines).toContainEqual(line));

test('while an index is built, records are stored, and a second migrator waits and applies nothing', async () => {
  await beginReading();
  const first = migrate(database.url, { migrations: [ReplaceIndex], printLine });
  await untilWaiting();
  await storeWorkspace();

  const second = migrate(database.url, { migrations: [ReplaceIndex], printLine });
  const waiting = 'Another process is applying migrations. Waiting for it to finish.';
  await untilPrinted(waiting);
  await storeWorkspace();
  expect(await readValidity('workspace_by_ref')).toBe(false);

  await session.query('commit');
  expect(await Promise.all([first, second])).toEqual([[replaceIndex], []]);
  expect(await readValidity('workspace_by_ref')).toBe(true);
  expect(await readValidity('workspace_newest')).toBe(undefined);
  expect(lines).toEqual([waiting, `Applied ${replaceIndex}`]);
});

test('an index whose build was interrupted is built again', async () => {
  await beginReading();
  const interrupted = migrate(database.url, { migrations: [ReplaceIndex], printLine });
  const rejected = expect(interrupted).rejects.toThrow('terminating connection');
  await untilWaiting();
  await database.sql('select pg_terminate_backend(pid) from pg_stat_progress_create_index');
  await rejected;
  expect(await readValidity('workspace_by_ref')).toBe(false);
  await session.query('commit');

  expect(await migrate(database.url, { migrations: [ReplaceIndex], printLine })).toEqual([replaceIndex]);
  expect(await readValidity('workspace_by_ref')).toBe(true);
  expect(lines).toEqual([`Applied ${replaceIndex}`]);
});

test('a valid index that exists already is kept', async () => {
  await database.sql('create index workspace_by_ref on workspace (user_id, git_ref)');
  const readId = () => database.sql(`select 'workspace_by_ref'::regclass::oid`);
  const id = await readId();
  expect(await migrate(database.url, { migrations: [ReplaceIndex] })).toEqual([replaceIndex]);
  expect(await readId()).toEqual(id);
});

test('a migration that waits for a lock lets requests pass between its attempts, and is then applied', async () => {
  await beginReading();
  const migrating = migrate(database.url, { migrations: [AddColumn], printLine });
  await untilWaiting();
  await storeWorkspace();
  await untilPrinted(
    expect.stringMatching(
      /^Migration\d+_add_column is waiting for a lock on workspace, used by PostgreSQL process(es)? \d+(, \d+)*: alter table/,
    ),
  );
  await storeWorkspace();
  await session.query('commit');
  expect(await migrating).toEqual([addColumn]);
  expect(lines.slice(1)).toEqual([`Applied ${addColumn}`]);
});

test('a migration that does not get a lock fails with the table and can be repeated', async () => {
  await beginReading();
  const [{ pid } = {}] = (await session.query('select pg_backend_pid() as pid')).rows;
  const attempt = migrate(database.url, { migrations: [AddColumn], lockAttempts: 1 });
  await expect(attempt).rejects.toThrow(OperatorError);
  // Autovacuum may use the table, too.
  await expect(attempt).rejects.toThrow(
    new RegExp(
      `^${addColumn} is waiting for a lock on workspace, used by PostgreSQL process.* ${pid}\\b.*: alter table "workspace" add column "zone" text null;\nWhen the transaction has ended, run again: npm run migrate$`,
    ),
  );
  await session.query('commit');
  expect(await migrate(database.url, { migrations: [AddColumn] })).toEqual([addColumn]);
});

test('each migration is applied on its own, completely or not at all', async () => {
  const migrations = [AddColumn, BreakTable];
  const failing = migrate(database.url, { migrations, printLine });
  await expect(failing).rejects.toThrow('relation "no_table" does not exist');
  expect(lines).toEqual([`Applied ${addColumn}`]);
  expect(
    await database.sql(
      `select column_name as name from information_schema.columns
       where table_name = 'workspace' and column_name in ('zone', 'rack')`,
    ),
  ).toEqual([{ name: 'zone' }]);
});
