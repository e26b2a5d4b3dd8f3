import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Slots } from '../database/statement.ts';
import type { Time } from '../values/time.ts';
import type { Resolution } from './notification.enums.ts';

/** Chooses among a user's notifications. */
type Choice = (eb: ExpressionBuilder<Tables, 'Notification'>) => Expression<SqlBool>;

/** What becomes of the chosen ones. */
type Change = { status: 'dismissed' } | { status: 'resolved'; resolvedBy: Expression<Resolution> };

/**
 * Changes the chosen notifications of a user who is locked, and returns them. Each takes a revision of its own, oldest
 * first; its times never go back, though clocks and requests overtake each other.
 */
export function updateWithRevisions(
  db: Kysely<Tables>,
  { slot }: Slots<{ userId: string; now: Time }>,
  choice: Choice,
  change: Change,
) {
  return db
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select('id')
        .select(sql<number>`row_number() over (order by created_at, id)`.as('position'))
        .where('userId', '=', slot('userId'))
        .where(choice),
    )
    .with('reached', (db) =>
      db
        .updateTable('UserRevision')
        .set({ notifications: sql<number>`notifications + (select count(*) from numbered)` })
        .where('userId', '=', slot('userId'))
        .where(({ exists, selectFrom }) => exists(selectFrom('numbered').select('id')))
        .returning(sql<number>`notifications - (select count(*) from numbered)`.as('before')),
    )
    .updateTable('Notification')
    .from(['numbered', 'reached'])
    .set((eb) => {
      const time = eb.fn<Time>('greatest', [slot('now', 'timestamptz'), 'updatedAt']);
      return {
        ...change,
        ...(change.status === 'resolved' ? { resolvedAt: time } : { dismissedAt: time }),
        revision: eb('reached.before', '+', eb.ref('numbered.position')),
        updatedAt: time,
      };
    })
    .where('userId', '=', slot('userId'))
    .whereRef('Notification.id', '=', 'numbered.id')
    .returningAll('Notification');
}
