import pg, { type QueryResultRow } from 'pg';
import { openDatabase } from '../../src/database/database.ts';
import type { Bound } from '../../src/database/statement.ts';
import { lockUsers } from '../../src/database/transaction.ts';
import { settings } from './settings.ts';

/** As many connections as the gateway, with generic plans and pipelined statements. */
const pool = new pg.Pool({
  connectionString: settings.DATABASE_URL,
  max: settings.DATABASE_POOL_SIZE,
  pipeline: true,
  options: '-c plan_cache_mode=force_generic_plan',
});

/** Builds the gateway's statements. No statement is sent over its connections. */
export const database = await openDatabase({ url: settings.DATABASE_URL, poolSize: 1, timeoutMs: 5000 });

type Send = <Row extends QueryResultRow>(statement: Bound<Row>) => Promise<Row[]>;

/** Locks users as the gateway does and sends statements, in one transaction and one write to the socket. */
export async function inTransaction<Result>(
  users: readonly string[],
  work: (send: Send) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    const send: Send = async <Row extends QueryResultRow>({ config, convertRows }: Bound<Row>) =>
      convertRows((await client.query<Row>(config)).rows);
    const { stream } = client.connection;
    stream.cork();
    const before = [client.query('begin'), send(lockUsers(database, { users }))];
    const result = work(send);
    const after = client.query('commit');
    stream.uncork();
    await Promise.all([...before, result, after]);
    return await result;
  } finally {
    client.release();
  }
}
