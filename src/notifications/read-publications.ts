import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { PublishedKeys } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { isDeliverable } from './channel-decision.ts';

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

/** Reads notifications by user and ID, and whether they may still be delivered. */
export const readPublications = defineStatement((db, params: Params<PublishedKeys>) =>
  selectFromKeys(db, params)
    .selectAll('Notification')
    .select(isDeliverable('Notification').as('isDeliverable')),
);
