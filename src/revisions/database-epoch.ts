import { sql } from 'kysely';
import { type EntityManager, query } from '../database/database.ts';

/** Replaces the database's epoch, which invalidates all entity tags and event cursors on all gateways. */
export async function renewEpoch(em: EntityManager): Promise<void> {
  const epoch = sql<string>`gen_random_uuid()`;
  await query(em)
    .insertInto('DatabaseEpoch')
    .values({ isOnly: true, epoch })
    .onConflict((conflict) =>
      conflict.column('isOnly').doUpdateSet((eb) => ({ epoch: eb.ref('excluded.epoch') })),
    )
    .execute();
}
