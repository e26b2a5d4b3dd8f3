import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import {
  findPreferencesInChange,
  storePreferences,
} from '../../src/notifications/preferences/preference-statements.ts';
import { toTime } from '../../src/values/time.ts';
import { database, inTransaction } from './transaction.ts';

/** A change of the preferences of all kinds. */
type Change = { email_enabled: boolean; push_enabled: boolean; chat_dm_enabled: boolean };

/** Updates preferences with the gateway's own statements and returns them in the format of the REST API. */
export async function updatePreferences(userId: string, { preferences }: { preferences: readonly Change[] }) {
  const [change] = preferences;
  if (change === undefined || preferences.length > 1) throw new Error('The bench sends one change.');
  const repeat = (isOn: boolean) => notificationKinds.map(() => isOn);
  const [, stored] = await inTransaction([userId], (send) =>
    Promise.all([
      send(
        storePreferences(database, {
          userId,
          kinds: notificationKinds,
          email: repeat(change.email_enabled),
          push: repeat(change.push_enabled),
          chatDm: repeat(change.chat_dm_enabled),
          now: toTime(new Date()),
        }),
      ),
      send(findPreferencesInChange(database, { userId })),
    ]),
  );
  return notificationKinds.map((kind) => {
    const row = stored.find(({ notificationKind }) => notificationKind === kind);
    if (row === undefined) throw new Error('A preference was not stored.');
    return {
      notification_kind: row.notificationKind,
      email_enabled: row.emailEnabled,
      push_enabled: row.pushEnabled,
      chat_dm_enabled: row.chatDmEnabled,
      user_id: row.userId,
      created_at: row.createdAt,
      updated_at: row.updatedAt,
    };
  });
}
