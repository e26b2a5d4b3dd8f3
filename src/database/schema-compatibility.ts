import { readdirSync } from 'node:fs';
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';
import { compareVersions, version } from '../version.ts';
import { type Database, migrationsFolder } from './database.ts';

/** PostgreSQL's `undefined_table`. */
const UNDEFINED_TABLE = '42P01';

const TOO_OLD =
  'The database has the schema of a version before 0.3.0. Upgrade to 0.3.0 first: run npm run migrate of that version.';

/** The migrations of this gateway. Listed once, because an upgrade may replace the folder while the gateway runs. */
const known = readdirSync(migrationsFolder)
  .flatMap((file) => /^(Migration\w+)\.ts$/.exec(file)?.[1] ?? [])
  .sort();

/** Returns the names of the pending migrations. Unlike the migrator's own check, it does not create a table. */
export async function findPendingMigrations(database: Database): Promise<string[]> {
  return listPending(await findAppliedMigrations(database));
}

/**
 * Describes why this gateway cannot run on the schema of a database: a migration requires a later version, or migrations
 * are pending. Returns undefined if it can.
 */
export async function findSchemaProblem(database: Database): Promise<string | undefined> {
  const applied = await findAppliedMigrations(database);
  for (const name of applied) {
    const required = readRequiredVersion(name);
    if (required === undefined || compareVersions(version, required) >= 0) continue;
    return `The database requires version ${required} of the gateway or a later one, because ${name} was applied. This is version ${version}: stop it and start that version.`;
  }
  const pending = listPending(applied);
  if (pending.length === 0) return undefined;
  return isTooOld(applied)
    ? TOO_OLD
    : `The database lacks ${pending.join(', ')}. Stop all gateways and workers, and run with the same settings: npm run migrate`;
}

/** Whether the database lacks the first migration, which creates the schema of version 0.3.0, but has earlier ones. */
function isTooOld(applied: readonly string[]): boolean {
  const [first = ''] = known;
  return applied.length > 0 && !applied.includes(first);
}

/** @throws {OperatorError} if the migrations of this version do not continue those of the database */
export async function requireUpgradable(database: Database): Promise<void> {
  if (isTooOld(await findAppliedMigrations(database))) throw new OperatorError(TOO_OLD);
}

/** @throws {OperatorError} if this gateway cannot run on the schema of the database */
export async function requireSchema(database: Database): Promise<void> {
  const problem = await findSchemaProblem(database);
  if (problem !== undefined) throw new OperatorError(problem);
}

function listPending(applied: readonly string[]): string[] {
  return known.filter((name) => !applied.includes(name));
}

/** Returns the names of the applied migrations, those of the latest version first. */
async function findAppliedMigrations(database: Database): Promise<string[]> {
  try {
    const rows = await database.orm.em
      .getConnection()
      .execute<{ name: string }[]>('select name from mikro_orm_migrations order by name desc');
    return rows.map(({ name }) => name);
  } catch (error) {
    if (readSystemErrorCode(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
}

/**
 * Returns the version that gateways need at least once a migration has been applied, which is part of the name of a
 * migration that earlier versions cannot work with: 0.4.0 for `Migration20270104093000_requires_0_4_0_drop_title`.
 * Before 1.0, the first migration of each minor version has it. Returns undefined if gateways of any version can work.
 *
 * A gateway finds the names of later migrations in the database, so it can decide although it does not have them.
 */
export function readRequiredVersion(name: string): string | undefined {
  const [, major, minor, patch] = /^Migration\d+_requires_(\d+)_(\d+)_(\d+)(?!\d)/.exec(name) ?? [];
  return major === undefined ? undefined : `${major}.${minor}.${patch}`;
}
