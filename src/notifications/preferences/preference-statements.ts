import { type Kysely, sql } from 'kysely';
import { defineRowsOfUserRead } from '../../database/batched-read.ts';
import type { Tables } from '../../database/database.ts';
import { defineStatement, type Params } from '../../database/statement.ts';
import type { Time } from '../../values/time.ts';
import type { NotificationKind } from '../notification.enums.ts';

/** Preferences as inputs of a statement, one array per column. */
export type PreferenceColumns = {
  userId: string;
  kinds: readonly NotificationKind[];
  email: readonly boolean[];
  push: readonly boolean[];
  chatDm: readonly boolean[];
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

function insertPreferences(db: Kysely<Tables>, { param }: Params<PreferenceColumns>) {
  const now = param('now', 'timestamptz');
  return db
    .insertInto('NotificationPreference')
    .columns(preferenceColumns)
    .expression(
      sql`select ${param('userId', 'text')}, kind, email, push, chat, ${now}, ${now}
        from unnest(${param('kinds', 'text[]')}, ${param('email', 'bool[]')}, ${param('push', 'bool[]')},
          ${param('chatDm', 'bool[]')}) as given (kind, email, push, chat)`,
    )
    .returning('notificationKind');
}

/** Stores preferences that are not stored yet, or whose channels differ from the stored ones. */
export const storeChanged = defineStatement((db, params: Params<PreferenceColumns>) =>
  insertPreferences(db, params).onConflict((conflict) =>
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
  ),
);

/** Stores preferences of kinds that are not stored yet. */
export const storeMissing = defineStatement((db, params: Params<PreferenceColumns>) =>
  insertPreferences(db, params).onConflict((conflict) =>
    conflict.columns(['userId', 'notificationKind']).doNothing(),
  ),
);

/** Finds a user's stored preferences. Concurrent calls become one statement. */
export const findPreferences = defineRowsOfUserRead((db, { param }) =>
  db
    .selectFrom('NotificationPreference')
    .selectAll()
    .where('userId', '=', sql<string>`any(${param('users')}::text[])`),
);

/** Finds a user's stored preferences within a change. */
export const findPreferencesInChange = defineStatement((db, { param }: Params<{ userId: string }>) =>
  db.selectFrom('NotificationPreference').selectAll().where('userId', '=', param('userId')),
);
