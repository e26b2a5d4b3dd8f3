import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Params } from '../database/statement.ts';
import { incrementRevision } from '../revisions/increment-revision.ts';
import type { Time } from '../values/time.ts';
import type { Resolution } from './notification.enums.ts';

/** The condition for the notifications to change. */
type Condition = (eb: ExpressionBuilder<Tables, 'Notification'>) => Expression<SqlBool>;

/** The new status, and the reason of a resolution. */
type StatusChange = { status: 'dismissed' } | { status: 'resolved'; resolution: Expression<Resolution> };

/**
 * Changes notifications of a user. Each gets a revision of its own, in the order of creation. The
 * caller must have locked the user's row of `UserRevision`. Timestamps never decrease, even if the clocks of gateways
 * differ. The caller adds what is returned.
 */
export function updateWithRevisions(
  db: Kysely<Tables>,
  { param }: Params<{ userId: string; now: Time }>,
  condition: Condition,
  change: StatusChange,
) {
  return db
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select('id')
        .select(sql<number>`row_number() over (order by ${sql.ref('createdAt')}, id)`.as('position'))
        .where('userId', '=', param('userId'))
        .where(condition),
    )
    .with('incremented', (db) => incrementRevision(db, 'notifications', 'numbered', param('userId')))
    .updateTable('Notification')
    .from(['numbered', 'incremented'])
    .set((eb) => {
      const time = eb.fn<Time>('greatest', [param('now', 'timestamptz'), 'updatedAt']);
      return {
        ...change,
        ...(change.status === 'resolved' ? { resolvedAt: time } : { dismissedAt: time }),
        revision: eb('incremented.before', '+', eb.ref('numbered.position')),
        updatedAt: time,
      };
    })
    .where('userId', '=', param('userId'))
    .whereRef('Notification.id', '=', 'numbered.id');
}
