import type { Database } from '../../database/database.ts';
import { type CancelDependencies, transactionAndCancel } from '../../database/outbox.ts';
import type { Time } from '../../values/time.ts';
import { type NotificationKind, notificationKinds } from '../notification.enums.ts';
import { type Channels, defaultChannels } from './channels.ts';
import type { NotificationPreference } from './preference.entity.ts';
import {
  findPreferences,
  findPreferencesInChange,
  type PreferenceColumns,
  storeChanged,
  storeMissing,
} from './preference-statements.ts';

/** One item of an update. Without a kind, it applies to every kind. */
export type PreferenceChange = Channels & { notificationKind?: NotificationKind | null | undefined };

/** The preference that applies to a kind. A default that is not stored has no timestamps. */
export type EffectivePreference = Omit<NotificationPreference, 'createdAt' | 'updatedAt'> & {
  createdAt: Time | null;
  updatedAt: Time | null;
};

/** Returns the last change that applies to a kind, which overrides earlier ones; `undefined` if none applies. */
export function findLastChange(
  kind: NotificationKind,
  changes: readonly PreferenceChange[],
): Channels | undefined {
  return changes.findLast(({ notificationKind }) => (notificationKind ?? kind) === kind);
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
  dependencies: CancelDependencies,
  userId: string,
  changes: readonly PreferenceChange[],
  now: Time,
): Promise<EffectivePreference[]> {
  const wanted = notificationKinds.map((kind) => ({ kind, channels: findLastChange(kind, changes) }));
  const given = wanted.flatMap(({ kind, channels }) => (channels === undefined ? [] : [{ kind, channels }]));
  const others = wanted.flatMap(({ kind, channels }) =>
    channels === undefined ? [{ kind, channels: defaultChannels }] : [],
  );
  const [, , stored] = await transactionAndCancel(dependencies, [userId], (run) =>
    Promise.all([
      given.length > 0 ? run(storeChanged, toColumns(userId, given, now)) : [],
      others.length > 0 ? run(storeMissing, toColumns(userId, others, now)) : [],
      run(findPreferencesInChange, { userId }),
    ]),
  );
  return addDefaults(userId, stored);
}

function toColumns(
  userId: string,
  preferences: readonly { kind: NotificationKind; channels: Channels }[],
  now: Time,
): PreferenceColumns {
  return {
    userId,
    kinds: preferences.map(({ kind }) => kind),
    email: preferences.map(({ channels }) => channels.emailEnabled),
    push: preferences.map(({ channels }) => channels.pushEnabled),
    chatDm: preferences.map(({ channels }) => channels.chatDmEnabled),
    now,
  };
}
