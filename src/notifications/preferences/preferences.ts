import type { Database } from '../../database/database.ts';
import { runStatement } from '../../database/statement.ts';
import type { OutboxDependencies } from '../../live/outbox.ts';
import type { Time } from '../../values/time.ts';
import { type NotificationKind, notificationKinds } from '../notification.enums.ts';
import { type Channels, defaultChannels } from './channels.ts';
import type { NotificationPreference } from './preference.entity.ts';
import { findPreferences, storePreferences } from './preference-statements.ts';

/** One item of an update. Without a kind, it applies to every kind. A channel that is null or omitted does not change. */
export type PreferenceChange = { readonly [Property in keyof Channels]?: boolean | null | undefined } & {
  notificationKind?: NotificationKind | null | undefined;
};

/** The preference that applies to a kind. A default that is not stored has no timestamps. */
export type EffectivePreference = Omit<NotificationPreference, 'createdAt' | 'updatedAt'> & {
  createdAt: Time | null;
  updatedAt: Time | null;
};

const channelNames = ['emailEnabled', 'pushEnabled', 'chatDmEnabled'] as const;

/**
 * Yields the rules that items break, by their index: each changes a channel, and those without a kind do not differ,
 * because only the last of them would apply.
 */
export function* findInvalidChanges(
  changes: readonly PreferenceChange[],
): Generator<{ index: number; message: string }> {
  const first = changes.findIndex(({ notificationKind }) => notificationKind == null);
  const describe = (change: PreferenceChange | undefined) =>
    channelNames.map((name) => change?.[name] ?? null).join();
  for (const [index, change] of changes.entries()) {
    if (channelNames.every((name) => change[name] == null)) yield { index, message: 'must change a channel' };
    else if (change.notificationKind == null && describe(change) !== describe(changes[first])) {
      const message = `must not differ from preferences[${first}], which also applies to all kinds`;
      yield { index, message };
    }
  }
}

/** Returns the channels that changes name for a kind. Later changes override earlier ones. */
export function mergeChanges(
  kind: NotificationKind,
  changes: readonly PreferenceChange[],
): Partial<Channels> {
  const merged: Partial<Channels> = {};
  for (const change of changes) {
    if ((change.notificationKind ?? kind) !== kind) continue;
    for (const name of channelNames) {
      const isEnabled = change[name];
      if (isEnabled != null) merged[name] = isEnabled;
    }
  }
  return merged;
}

/** Lists a user's preferences for all kinds, in the order of {@link notificationKinds}. Stores nothing. */
export async function listPreferences(database: Database, userId: string): Promise<EffectivePreference[]> {
  return addDefaults(userId, await findPreferences(database, userId));
}

function addDefaults(userId: string, stored: readonly NotificationPreference[]): EffectivePreference[] {
  return notificationKinds.map(
    (notificationKind) =>
      stored.find((preference) => preference.notificationKind === notificationKind) ?? {
        userId,
        notificationKind,
        ...defaultChannels,
        createdAt: null,
        updatedAt: null,
      },
  );
}

/** Applies changes and stores the preferences of all kinds. `updatedAt` changes only if a channel does. */
export async function updatePreferences(
  { database, outbox }: OutboxDependencies,
  userId: string,
  changes: readonly PreferenceChange[],
  now: Time,
): Promise<EffectivePreference[]> {
  const wanted = notificationKinds.map((kind) => mergeChanges(kind, changes));
  const list = (name: keyof Channels) => wanted.map((channels) => channels[name] ?? defaultChannels[name]);
  const kindsOf = (name: keyof Channels) =>
    notificationKinds.filter((_kind, index) => wanted[index]?.[name] !== undefined);
  const stored = await runStatement(database, storePreferences, {
    userId,
    kinds: notificationKinds,
    emailEnabled: list('emailEnabled'),
    emailEnabledOf: kindsOf('emailEnabled'),
    pushEnabled: list('pushEnabled'),
    pushEnabledOf: kindsOf('pushEnabled'),
    chatDmEnabled: list('chatDmEnabled'),
    chatDmEnabledOf: kindsOf('chatDmEnabled'),
    now,
  });
  outbox.note([userId]);
  return addDefaults(userId, stored);
}
