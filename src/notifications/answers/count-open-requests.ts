import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { getKysely } from '../../database/database.ts';
import { ofAllUsers } from '../notification.entity.ts';

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
  // Sorted, so that PostgreSQL reads the indexes of open requests.
  const open = db
    .selectFrom('Notification')
    .where('requestState', '=', sql.lit<'open'>('open'))
    .limit(MAX_COUNTED);
  const first = open.where(sql.raw<boolean>(ofAllUsers)).orderBy('createdAt').select('id');
  const overdue = open.where('expiresAt', '<=', sql<never>`now()`).orderBy('expiresAt').select('expiresAt');
  return db
    .selectFrom(overdue.as('overdue'))
    .select(({ fn, selectFrom }) => [
      selectFrom(first.as('first')).select(fn.countAll<number>().as('count')).$asScalar().as('open'),
      fn.countAll<number>().as('overdue'),
      sql<number>`coalesce(extract(epoch from now() - min(${sql.ref('expiresAt')})), 0)::float`.as(
        'overdueSeconds',
      ),
    ])
    .executeTakeFirstOrThrow();
}
