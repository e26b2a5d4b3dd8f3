import {
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';
import type { Pool } from 'pg';

/**
 * Connects MikroORM to a pool. MikroORM begins its transactions as controlled transactions of Kysely, which keep their
 * connection forever if it breaks before `begin` or `rollback` has completed. This dialect returns it to the pool.
 */
export class MainDialect extends PostgresDialect {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    super({ pool });
    this.#pool = pool;
  }

  override createDriver(): Driver {
    return new ReleasingDriver({ pool: this.#pool });
  }
}

class ReleasingDriver extends PostgresDriver implements Driver {
  readonly #acquired = new WeakSet<DatabaseConnection>();

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    this.#acquired.add(connection);
    return connection;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    await releaseOnFailure(this, connection, super.beginTransaction(connection, settings));
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await releaseOnFailure(this, connection, super.rollbackTransaction(connection));
  }

  /** Returns a connection to the pool unless it was returned before. The pool discards a broken one. */
  override async releaseConnection(
    connection: Parameters<PostgresDriver['releaseConnection']>[0],
  ): Promise<void> {
    if (this.#acquired.delete(connection)) await super.releaseConnection(connection);
  }
}

async function releaseOnFailure(
  driver: Driver,
  connection: DatabaseConnection,
  statement: Promise<void>,
): Promise<void> {
  try {
    await statement;
  } catch (error) {
    await driver.releaseConnection(connection);
    throw error;
  }
}
