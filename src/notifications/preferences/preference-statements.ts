import { sql } from 'kysely';
import { defineRowsOfUserRead } from '../../database/batched-read.ts';
import type { OfUsers } from '../../database/page.ts';
import { defineListRead, type ReadParams } from '../../database/read.ts';
import { defineStatement, type Params } from '../../database/statement.ts';
import type { Time } from '../../values/time.ts';
import type { NotificationKind } from '../notification.enums.ts';
import { type Channels, defaultChannels } from './channels.ts';

/** Changes of preferences as inputs of a statement, one array per column. A null channel does not change. */
export type PreferenceColumns = {
  userId: string;
  kinds: readonly NotificationKind[];
  email: readonly (boolean | null)[];
  push: readonly (boolean | null)[];
  chatDm: readonly (boolean | null)[];
  now: Time;
};

/** The columns of a preference, in the order in which statements select them for an insert. */
export const preferenceColumns = [
  'userId',
  'notificationKind',
  'emailEnabled',
  'pushEnabled',
  'chatDmEnabled',
  'createdAt',
  'updatedAt',
] as const;

/**
 * Stores preferences that are not stored yet, or whose channels change. Runs in a transaction that has locked the user,
 * so that what it reads is what it replaces.
 */
export const storePreferences = defineStatement((db, { param }: Params<PreferenceColumns>) => {
  const [userId, now] = [param('userId', 'text'), param('now', 'timestamptz')];
  const stored = (property: string) => sql.ref(`NotificationPreference.${property}`);
  const channel = (given: string, property: keyof Channels) =>
    sql`coalesce(${sql.ref(given)}, ${stored(property)}, ${sql.lit(defaultChannels[property])})`;
  return db
    .insertInto('NotificationPreference')
    .columns(preferenceColumns)
    .expression(
      sql`select ${userId}, kind, ${channel('email', 'emailEnabled')}, ${channel('push', 'pushEnabled')},
          ${channel('chat', 'chatDmEnabled')}, ${now}, ${now}
        from unnest(${param('kinds', 'text[]')}, ${param('email', 'bool[]')}, ${param('push', 'bool[]')},
          ${param('chatDm', 'bool[]')}) as given (kind, email, push, chat)
        left join ${sql.table('NotificationPreference')}
          on ${stored('userId')} = ${userId} and ${stored('notificationKind')} = kind`,
    )
    .onConflict((conflict) =>
      conflict
        .columns(['userId', 'notificationKind'])
        .doUpdateSet((eb) => ({
          emailEnabled: eb.ref('excluded.emailEnabled'),
          pushEnabled: eb.ref('excluded.pushEnabled'),
          chatDmEnabled: eb.ref('excluded.chatDmEnabled'),
          updatedAt: eb.ref('excluded.updatedAt'),
        }))
        .where((eb) =>
          eb.or([
            eb('excluded.emailEnabled', '<>', eb.ref('NotificationPreference.emailEnabled')),
            eb('excluded.pushEnabled', '<>', eb.ref('NotificationPreference.pushEnabled')),
            eb('excluded.chatDmEnabled', '<>', eb.ref('NotificationPreference.chatDmEnabled')),
          ]),
        ),
    )
    .returning('notificationKind');
});

/** Finds a user's stored preferences. Concurrent calls become one statement. */
export const findPreferences = defineRowsOfUserRead(
  defineListRead((db, { param }: ReadParams<OfUsers>) =>
    db
      .selectFrom('NotificationPreference')
      .selectAll()
      .where('userId', '=', sql<string>`any(${param('users')}::text[])`),
  ),
);

/** Finds a user's stored preferences within a change. */
export const findPreferencesInChange = defineStatement((db, { param }: Params<{ userId: string }>) =>
  db.selectFrom('NotificationPreference').selectAll().where('userId', '=', param('userId')),
);
