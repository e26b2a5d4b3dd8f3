import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { getKysely } from '../../database/database.ts';

/** Counting ends at this number, so that it costs the same however many requests are open. */
export const MAX_COUNTED = 10_000;

/**
 * Counts the open requests of all users, and of them those whose expiry is due but not stored, each up to
 * {@link MAX_COUNTED}. Also returns the seconds since the oldest of these expired; 0 if there is none.
 */
export async function countOpenRequests(
  em: EntityManager,
): Promise<{ open: number; overdue: number; overdueSeconds: number }> {
  const db = getKysely(em);
  // Sorted, so that PostgreSQL reads the index of open requests.
  const first = db
    .selectFrom('Notification')
    .select('expiresAt')
    .where('requestState', '=', sql.lit<'open'>('open'))
    .orderBy('expiresAt')
    .limit(MAX_COUNTED);
  const expiresAt = sql.ref('expiresAt');
  const isDue = sql<boolean>`${expiresAt} <= now()`;
  return db
    .selectFrom(first.as('first'))
    .select(({ fn }) => [
      fn.countAll<number>().as('open'),
      fn.countAll<number>().filterWhere(isDue).as('overdue'),
      sql<number>`coalesce(extract(epoch from now() - min(${expiresAt}) filter (where ${isDue})), 0)::float`.as(
        'overdueSeconds',
      ),
    ])
    .executeTakeFirstOrThrow();
}
