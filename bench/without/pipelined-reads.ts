import { Pool, type PoolConfig, type QueryConfig, type QueryResultRow } from 'pg';

/** A pool that runs one statement per connection at a time, with as many connections as the pool for changes. */
export class Pipeline {
  readonly pool: Pool;

  constructor(options: PoolConfig) {
    this.pool = new Pool(options);
    this.pool.on('error', () => undefined);
  }

  async query<Row extends QueryResultRow>(statement: QueryConfig): Promise<Row[]> {
    return (await this.pool.query<Row>(statement)).rows;
  }
}
