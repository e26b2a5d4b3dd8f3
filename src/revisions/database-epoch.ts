import { sql } from 'kysely';
import { type EntityManager, query } from '../database/database.ts';

/** Invalidates every entity tag and cursor that was given out before, on all gateways at once. */
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
