import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely';
import { type EntityManager, query } from '../database/database.ts';
import type { Time } from '../time.ts';
import type { Notification, Resolution } from './notification.entity.ts';

type Tables = ReturnType<typeof query> extends Kysely<infer Tables> ? Tables : never;

/** Chooses among a user's notifications. */
export type Choice = (eb: ExpressionBuilder<Tables, 'Notification'>) => Expression<SqlBool>;

/** What becomes of the chosen ones. */
export type Change = { status: 'dismissed' } | { status: 'resolved'; resolvedBy: Resolution };

/**
 * Changes the chosen notifications of a user who is locked, and answers them oldest first. Each takes a revision of
 * its own, counted on from `revision`; its times never go back, though clocks and requests overtake each other.
 */
export async function changeNumbered(
  em: EntityManager,
  { userId, revision }: { userId: string; revision: number },
  choice: Choice,
  change: Change,
  now: Time,
): Promise<Notification[]> {
  const changed = await query(em)
    .with('numbered', (db) =>
      db
        .selectFrom('Notification')
        .select([
          'id',
          (eb) =>
            eb.fn
              .agg<number>('row_number')
              .over((o) => o.orderBy('createdAt').orderBy('id'))
              .as('position'),
        ])
        .where('userId', '=', userId)
        .where(choice),
    )
    .updateTable('Notification')
    .from('numbered')
    .set((eb) => {
      const time = eb.fn<Time>('greatest', [eb.val(now), 'updatedAt']);
      return {
        ...change,
        ...(change.status === 'resolved' ? { resolvedAt: time } : { dismissedAt: time }),
        revision: eb(eb.val(revision), '+', eb.ref('numbered.position')),
        updatedAt: time,
      };
    })
    .where('userId', '=', userId)
    .whereRef('Notification.id', '=', 'numbered.id')
    .returningAll('Notification')
    .execute();
  return changed.sort((a, b) => a.revision - b.revision);
}
