import { sql } from 'kysely';
import { defineRowsOfUserRead } from '../../database/batched-read.ts';
import type { OfUsers } from '../../database/page.ts';
import { defineListRead, type ReadParams } from '../../database/read.ts';
import { defineStatement, type Params } from '../../database/statement.ts';
import { lock } from '../../database/transaction.ts';
import type { Time } from '../../values/time.ts';
import type { NotificationKind } from '../notification.enums.ts';
import type { Channels } from './channels.ts';

/**
 * The preferences of all kinds as inputs of a statement, one array per column, as they are if they are not stored yet; and
 * the kinds of which each channel changes.
 */
export type PreferenceColumns = {
  userId: string;
  kinds: readonly NotificationKind[];
  now: Time;
} & Readonly<Record<keyof Channels, readonly boolean[]>> &
  Readonly<Record<`${keyof Channels}Of`, readonly NotificationKind[]>>;

/** The columns of a preference, in the order in which statements select them for an insert. */
const preferenceColumns = [
  'userId',
  'notificationKind',
  'emailEnabled',
  'pushEnabled',
  'chatDmEnabled',
  'createdAt',
  'updatedAt',
] as const;

/**
 * Stores the preferences of all kinds, and returns them. Computes from the stored rows while it holds them, so that neither
 * of two changes is lost. `updatedAt` changes only if a channel does. Locks the user first, who may be being deleted.
 */
export const storePreferences = defineStatement((db, { param }: Params<PreferenceColumns>) => {
  const { ref } = sql;
  const [userId, now] = [param('userId', 'text'), param('now', 'timestamptz')];
  const stored = (name: string) => ref(`NotificationPreference.${name}`);
  const channels = ['emailEnabled', 'pushEnabled', 'chatDmEnabled'] as const;
  const changed = (name: keyof Channels) =>
    sql<boolean>`case when ${stored('notificationKind')} = any(${param(`${name}Of`, 'text[]')})
      then ${ref(`excluded.${name}`)} else ${stored(name)} end`;
  const given = sql.join(channels.map((name) => param(name, 'bool[]')));
  return db
    .with('owner', (db) => lock(db, sql`array[${userId}]`))
    .insertInto('NotificationPreference')
    .columns(preferenceColumns)
    .expression(
      sql`select ${userId}, given.*, ${now}, ${now} from unnest(${param('kinds', 'text[]')}, ${given}) as given
        where (select count(*) from owner) >= 0`,
    )
    .onConflict((conflict) =>
      conflict.columns(['userId', 'notificationKind']).doUpdateSet({
        emailEnabled: changed('emailEnabled'),
        pushEnabled: changed('pushEnabled'),
        chatDmEnabled: changed('chatDmEnabled'),
        updatedAt: sql<Time>`case when (${sql.join(channels.map(changed))}) = (${sql.join(channels.map(stored))})
          then ${stored('updatedAt')} else ${ref('excluded.updatedAt')} end`,
      }),
    )
    .returningAll();
});

/** Finds a user's stored preferences. Concurrent calls become one statement. */
export const findPreferences = defineRowsOfUserRead(
  defineListRead((db, { param }: ReadParams<OfUsers>) =>
    db
      .selectFrom('NotificationPreference')
      .selectAll()
      .where((eb) => eb('userId', '=', eb.fn.any(param('users', 'text[]')))),
  ),
);
