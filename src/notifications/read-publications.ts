import { type RawBuilder, sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';

/** Reads notifications by user and ID, with the channels in the user's stored preference for their kind. */
export const readPublications = defineStatement(
  (db, { param }: Params<{ users: readonly string[]; ids: readonly string[] }>) => {
    const wanted: RawBuilder<{ user: string; notification: string }> = sql`unnest(
      ${param('users', 'text[]')}, ${param('ids', 'text[]')})`;
    return db
      .selectFrom(wanted.as<'wanted'>(sql`wanted ("user", notification)`))
      .innerJoin('Notification', (join) =>
        join
          .onRef('Notification.userId', '=', 'wanted.user')
          .onRef('Notification.id', '=', 'wanted.notification'),
      )
      .leftJoin('NotificationPreference', (join) =>
        join
          .onRef('NotificationPreference.userId', '=', 'Notification.userId')
          .onRef('NotificationPreference.notificationKind', '=', 'Notification.kind'),
      )
      .selectAll('Notification')
      .select([
        'NotificationPreference.emailEnabled',
        'NotificationPreference.pushEnabled',
        'NotificationPreference.chatDmEnabled',
      ]);
  },
);
