import type { Pool, PoolConfig, QueryConfig, QueryResultRow } from 'pg';
import { openPool } from '../../src/database/pool.ts';

/** A pool that runs one statement per connection at a time, with as many connections as the pool for changes. */
export class Pipeline {
  readonly pool: Pool;

  constructor(options: PoolConfig) {
    this.pool = openPool(options);
  }

  async query<Row extends QueryResultRow>(statement: QueryConfig): Promise<Row[]> {
    return (await this.pool.query<Row>(statement)).rows;
  }
}
