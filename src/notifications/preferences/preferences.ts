import type { EntityManager } from '../../database/database.ts';
import { change } from '../../revisions/change.ts';
import type { Time } from '../../values/time.ts';
import { type NotificationKind, notificationKinds } from '../notification.enums.ts';
import type { NotificationPreference } from './preference.entity.ts';
import {
  find,
  findStored,
  type PreferenceColumns,
  storeChanged,
  storeMissing,
} from './preference-statements.ts';

/** The channels that notifications may take, by the preference that turns each on. */
export const channels = ['emailEnabled', 'pushEnabled', 'chatDmEnabled'] as const;

/** The channels that one kind of notification may take. */
export type Channels = Pick<NotificationPreference, (typeof channels)[number]>;

/** One item of an update; without a kind it applies to every kind. */
export type PreferenceChange = Channels & { notificationKind?: NotificationKind | null | undefined };

/** What applies to a kind; one that was never stored has no times yet. */
export type EffectivePreference = Omit<NotificationPreference, 'createdAt' | 'updatedAt'> & {
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
  return everyKind(userId, await find(em, { userId }));
}

function everyKind(userId: string, stored: readonly NotificationPreference[]): EffectivePreference[] {
  return notificationKinds.map(
    (notificationKind) =>
      stored.find((preference) => preference.notificationKind === notificationKind) ?? {
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
  const wanted = notificationKinds.map((kind) => ({ kind, channels: lastChange(kind, changes) }));
  const given = wanted.flatMap(({ kind, channels }) => (channels === undefined ? [] : [{ kind, channels }]));
  const others = wanted.flatMap(({ kind, channels }) =>
    channels === undefined ? [{ kind, channels: allOn }] : [],
  );
  const [, , stored] = await change(em, [userId], (run) =>
    Promise.all([
      given.length > 0 ? run(storeChanged, toColumns(userId, given, now)) : [],
      others.length > 0 ? run(storeMissing, toColumns(userId, others, now)) : [],
      run(findStored, { userId }),
    ]),
  );
  return everyKind(userId, stored);
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
