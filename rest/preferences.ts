import { z } from 'zod';
import {
  notificationPreferencesField,
  updateNotificationPreferencesField,
} from '../src/notifications/preferences/preferences.graphql.ts';
import { notificationKind } from './notifications.ts';
import { body, type Route } from './route.ts';
import { ignoredText, timestamp } from './wire.ts';

const channels = {
  email_enabled: z.boolean().describe('Whether email is enabled.'),
  push_enabled: z.boolean().describe('Whether push messages are enabled.'),
  chat_dm_enabled: z.boolean().describe('Whether chat direct messages are enabled.'),
};

const effective = {
  notification_kind: notificationKind,
  ...channels,
  user_id: z.string().describe('The ID of the user who owns the preference.'),
};

/** The notification preference of the specification. */
const preference = z
  .strictObject({
    ...effective,
    created_at: timestamp.describe('Timestamp of creation.'),
    updated_at: timestamp.describe('Timestamp of the last change of a channel.'),
  })
  .meta({
    id: 'NotificationPreference',
    description:
      'The channels over which a user receives notifications of one kind. They do not affect the inbox.',
  });

/** A preference that may not be stored yet. */
const effectivePreference = z
  .strictObject({
    ...effective,
    created_at: timestamp
      .optional()
      .describe('Timestamp of creation. Omitted if the preference was never stored.'),
    updated_at: timestamp
      .optional()
      .describe('Timestamp of the last change of a channel. Omitted if the preference was never stored.'),
  })
  .meta({
    id: 'EffectiveNotificationPreference',
    description:
      'The channels over which a user receives notifications of one kind. All are enabled until the preference is stored.',
  });

const selector = {
  notification_kind: notificationKind
    .nullish()
    .describe('The kind of notification. Defaults to all kinds, also if it is `null`.'),
};

/** What a preference contains besides, so that clients can send back what they read. */
const unchangeable = {
  user_id: ignoredText('The ID of the user who owns the preference.'),
  created_at: ignoredText('Timestamp of creation.'),
  updated_at: ignoredText('Timestamp of the last change of a channel.'),
};

const replacement = z.strictObject({ ...selector, ...channels, ...unchangeable }).meta({
  id: 'NotificationPreferenceChange',
  description: 'All channels for one kind of notification, or for all kinds.',
});

const partialChange = z
  .strictObject({
    ...selector,
    email_enabled: channels.email_enabled.optional(),
    push_enabled: channels.push_enabled.optional(),
    chat_dm_enabled: channels.chat_dm_enabled.optional(),
    ...unchangeable,
  })
  .meta({
    id: 'NotificationPreferencePatch',
    description:
      'Some channels for one kind of notification, or for all kinds. At least one is required; omitted channels do not change.',
  });

function changeList(change: z.ZodObject) {
  return z
    .array(change)
    .max(100)
    .describe(
      'The changes, at most 100. They are applied in order, so later ones override earlier ones. Those without a kind ' +
        'must not differ.',
    );
}

const rules =
  'An item without a kind applies to all kinds. Any update, even an empty one, stores a preference for every kind, with ' +
  'defaults where none was stored. `updated_at` changes only if a channel changes. Preferences do not affect the inbox.';

/** Reading and updating notification preferences. */
export const preferences: readonly Route[] = [
  {
    method: 'put',
    path: '/user/notification-preferences',
    field: updateNotificationPreferencesField,
    tag: 'Notification preferences',
    summary: 'Update notification preferences',
    description: `Replaces all channels of some kinds of notification, or of all kinds. ${rules}`,
    body: z
      .strictObject({ preferences: changeList(replacement) })
      .meta({ id: 'NotificationPreferencesUpdate', description: 'Changes of notification preferences.' }),
    bind: { input: { preferences: body('preferences') } },
    reply: {
      name: 'preferences',
      from: 'preferences',
      shape: z.array(preference),
      description: 'The preferences for all kinds.',
    },
  },
  {
    method: 'patch',
    path: '/user/notification-preferences',
    field: updateNotificationPreferencesField,
    operationId: 'patchNotificationPreferences',
    tag: 'Notification preferences',
    isExtension: true,
    summary: 'Change some notification preferences',
    description: `Changes some channels of some kinds of notification, or of all kinds. ${rules}`,
    body: z
      .strictObject({ preferences: changeList(partialChange) })
      .meta({ id: 'NotificationPreferencesPatch', description: 'Changes of some channels.' }),
    bind: { input: { preferences: body('preferences') } },
    reply: {
      name: 'preferences',
      from: 'preferences',
      shape: z.array(preference),
      description: 'The preferences for all kinds.',
    },
  },
  {
    method: 'get',
    path: '/user/notification-preferences',
    field: notificationPreferencesField,
    tag: 'Notification preferences',
    isExtension: true,
    summary: 'List notification preferences',
    description:
      "Returns the caller's preferences for all kinds. All channels of a kind are enabled until its preference is stored.",
    bind: {},
    reply: {
      name: 'preferences',
      shape: z.array(effectivePreference),
      description: 'The preferences for all kinds.',
    },
  },
];
