import { type EntityManager, query } from '../database/database.ts';
import { type NotificationKind, notificationKinds } from '../notification-kind.ts';
import type { Time } from '../time.ts';
import type { Preference } from './preference.entity.ts';

/** The channels that one kind of notification may take. */
export type Channels = Pick<Preference, 'emailEnabled' | 'pushEnabled' | 'chatDmEnabled'>;

/** One item of an update; without a kind it applies to every kind. */
export type PreferenceChange = Channels & { notificationKind?: NotificationKind | null | undefined };

/** What applies to a kind; one that was never stored has no times yet. */
export type EffectivePreference = Omit<Preference, 'createdAt' | 'updatedAt'> & {
  createdAt: Time | null;
  updatedAt: Time | null;
};

const allOn: Channels = { emailEnabled: true, pushEnabled: true, chatDmEnabled: true };

/** The channels that a list of changes ends in for a kind, later items over earlier; undefined where none speaks of it. */
export function lastChange(
  kind: NotificationKind,
  changes: readonly PreferenceChange[],
): Channels | undefined {
  return changes.findLast(({ notificationKind }) => (notificationKind ?? kind) === kind);
}

/** A user's preferences for every kind, in the specification's order. Reading never writes. */
export async function listPreferences(em: EntityManager, userId: string): Promise<EffectivePreference[]> {
  const stored = await storedPreferences(em, userId);
  return notificationKinds.map(
    (notificationKind) =>
      stored.get(notificationKind) ?? {
        userId,
        notificationKind,
        ...allOn,
        createdAt: null,
        updatedAt: null,
      },
  );
}

/** Applies changes; every kind is stored afterwards. `updatedAt` moves only where a channel changes. */
export async function updatePreferences(
  em: EntityManager,
  userId: string,
  changes: readonly PreferenceChange[],
  now: Time,
): Promise<EffectivePreference[]> {
  const times = { createdAt: now, updatedAt: now };
  const wanted = notificationKinds.map((notificationKind) => {
    const { emailEnabled, pushEnabled, chatDmEnabled } = lastChange(notificationKind, changes) ?? allOn;
    return { userId, notificationKind, emailEnabled, pushEnabled, chatDmEnabled, ...times };
  });
  const said = wanted.filter(({ notificationKind }) => lastChange(notificationKind, changes) !== undefined);
  return em.transactional(async (em) => {
    // Rows are always met in the same order, missing ones first: of two updates at once one waits, never both.
    if (said.length < wanted.length) await storeMissing(em, wanted);
    await storeChanged(em, said);
    return listPreferences(em, userId);
  });
}

/** The channels that a user leaves on for a kind. */
export async function channelsOf(
  em: EntityManager,
  userId: string,
  kind: NotificationKind,
): Promise<Channels> {
  const stored = await storedPreferences(em, userId);
  return stored.get(kind) ?? allOn;
}

async function storeChanged(em: EntityManager, preferences: readonly Preference[]): Promise<void> {
  if (preferences.length === 0) return;
  await query(em)
    .insertInto('Preference')
    .values(preferences)
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
            eb('excluded.emailEnabled', '<>', eb.ref('Preference.emailEnabled')),
            eb('excluded.pushEnabled', '<>', eb.ref('Preference.pushEnabled')),
            eb('excluded.chatDmEnabled', '<>', eb.ref('Preference.chatDmEnabled')),
          ]),
        ),
    )
    .execute();
}

async function storeMissing(em: EntityManager, preferences: readonly Preference[]): Promise<void> {
  await query(em)
    .insertInto('Preference')
    .values(preferences)
    .onConflict((conflict) => conflict.columns(['userId', 'notificationKind']).doNothing())
    .execute();
}

async function storedPreferences(
  em: EntityManager,
  userId: string,
): Promise<Map<NotificationKind, Preference>> {
  const rows = await query(em).selectFrom('Preference').selectAll().where('userId', '=', userId).execute();
  return new Map(rows.map((row) => [row.notificationKind, row]));
}
