import { sql } from 'kysely';
import type { Database } from '../database/database.ts';

/** Replaces the database's epoch, which invalidates all entity tags and event cursors on all gateways. */
export async function renewEpoch(database: Database): Promise<void> {
  const epoch = sql<string>`gen_random_uuid()`;
  await database.query
    .insertInto('DatabaseEpoch')
    .values({ isOnly: true, epoch })
    .onConflict((conflict) =>
      conflict.column('isOnly').doUpdateSet((eb) => ({ epoch: eb.ref('excluded.epoch') })),
    )
    .execute();
}
