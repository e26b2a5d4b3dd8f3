import { Migration } from '@mikro-orm/migrations';

/** An index. `on` is the rest of its definition: the table, the columns and, if it is partial, the condition. */
type IndexDefinition = { name: string; on: string; unique?: boolean };

/**
 * Builds and drops indexes of tables in use. Requests never wait for it, because it runs without a transaction and waits
 * for theirs. If it was interrupted, it can be run again.
 *
 * @example
 * export class Migration20270104093000_index_active extends IndexMigration {
 *   override name = 'Migration20270104093000_index_active';
 *
 *   override create = [
 *     { name: 'notification_active', on: `"notification" ("user_id", "created_at") where status = 'active'` },
 *   ];
 *   override drop = ['notification_newest'];
 * }
 */
export abstract class IndexMigration extends Migration {
  /** Built in order, before any index is dropped. An index that exists already is kept. */
  readonly create: readonly IndexDefinition[] = [];

  /** The names of indexes to drop. */
  readonly drop: readonly string[] = [];

  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    // These statements wait for older transactions, possibly for long. No other statement waits behind them.
    await this.execute('set lock_timeout = 0');
    for (const { name, on, unique = false } of this.create) {
      // What an interrupted build left is maintained by PostgreSQL, but not used.
      if (await this.isInvalid(name)) await this.dropIndex(name);
      await this.execute(
        `create ${unique ? 'unique ' : ''}index concurrently if not exists "${name}" on ${on}`,
      );
    }
    for (const name of this.drop) await this.dropIndex(name);
  }

  private async isInvalid(name: string): Promise<boolean> {
    const found = await this.execute(
      'select indexrelid from pg_index where indexrelid = to_regclass(?) and not indisvalid',
      [`"${name}"`],
    );
    return found.length > 0;
  }

  private async dropIndex(name: string): Promise<void> {
    await this.execute(`drop index concurrently if exists "${name}"`);
  }
}
