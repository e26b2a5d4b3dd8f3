import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { PublishedKeys } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { decideChannels, isDeliverable } from './channel-decision.ts';
import type { NotificationKind } from './notification.enums.ts';

/** Selects from the notifications with the given users and IDs. */
export function selectFromKeys(db: Pick<Kysely<Tables>, 'selectFrom'>, { param }: Params<PublishedKeys>) {
  const keys: RawBuilder<{ user: string; notification: string }> = sql`unnest(
    ${param('users', 'text[]')}, ${param('ids', 'text[]')})`;
  return db
    .selectFrom(keys.as<'keys'>(sql`keys ("user", notification)`))
    .innerJoin('Notification', (join) =>
      join.onRef('Notification.userId', '=', 'keys.user').onRef('Notification.id', '=', 'keys.notification'),
    );
}

type Input = PublishedKeys & { providers: readonly DeliveryChannel[] };

/**
 * Reads notifications by user and ID, with the decision of their channels and whether they may still be delivered. A
 * notification that a gateway before version 0.3.0 stored has no decision; it is made from the current records.
 */
export const readPublications = defineStatement((db, params: Params<Input>) => {
  const decision = decideChannels({
    userId: sql.ref<string>('Notification.userId'),
    kind: sql.ref<NotificationKind>('Notification.kind'),
    providers: params.param('providers', 'text[]'),
  });
  return selectFromKeys(db, params)
    .selectAll('Notification')
    .select([
      sql<number>`coalesce(${sql.ref('Notification.skippedChannels')}, ${decision})`.as('decision'),
      isDeliverable('Notification').as('isDeliverable'),
    ]);
});
