import { relative } from 'node:path';
import { TSMigrationGenerator } from '@mikro-orm/migrations';
import { readConfig } from '../config.ts';
import { type Database, migrationsFolder } from '../database/database.ts';
import { OperatorError } from '../errors/failure.ts';
import { printLine, runCommand, UsageError } from './run-command.ts';
import { useMigratedDatabase } from './use-database.ts';

/** Writes a migration from the difference between the database and the entities. Does not change the database. */
runCommand('npm run -s migration -- NAME', { allowPositionals: true }, async ({ positionals }) => {
  const [name, ...others] = positionals;
  if (name === undefined || others.length > 0 || !/^[a-z][a-z\d_]*$/.test(name)) {
    throw new UsageError(
      'NAME must describe the change in lower-case letters, digits and underscores: add_favorites',
    );
  }
  await useMigratedDatabase(readConfig(), (database) => write(database, name));
});

/** Omits `down`, because migrations are not reverted. */
class UpGenerator extends TSMigrationGenerator {
  override generateMigrationFile(className: string, { up }: { up: string[] }): string {
    return super.generateMigrationFile(className, { up, down: [] });
  }
}

async function write(database: Database, name: string): Promise<void> {
  const { config } = database.orm;
  config.set('migrations', { ...config.get('migrations'), generator: UpGenerator });
  const { fileName, diff } = await database.orm.migrator.create(undefined, false, false, name);
  if (diff.up.length === 0)
    throw new OperatorError('The database already matches the entities; there is nothing to migrate.');
  printLine(`Wrote ${relative('.', migrationsFolder)}/${fileName}. Review it, then run: npm run migrate`);
}
