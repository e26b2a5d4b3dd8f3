import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DatabaseEpochSchema } from './revisions.entity.ts';

/** Replaces the database's epoch, which invalidates all entity tags and event cursors on all gateways. */
export async function renewEpoch(em: EntityManager): Promise<void> {
  await em.upsert(DatabaseEpochSchema, { isOnly: true, epoch: randomUUID() });
}
