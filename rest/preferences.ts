import { z } from 'zod';
import {
  notificationPreferencesField,
  updateNotificationPreferencesField,
} from '../src/notifications/preferences/preferences.graphql.ts';
import { notificationKind } from './notifications.ts';
import { body, type Route } from './route.ts';
import { timestamp } from './wire.ts';

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

const change = z
  .strictObject({
    notification_kind: notificationKind
      .optional()
      .describe('The kind of notification. Defaults to all kinds.'),
    ...channels,
  })
  .meta({
    id: 'NotificationPreferenceChange',
    description: 'The channels for one kind of notification, or for all kinds.',
  });

/** Reading and updating notification preferences. */
export const preferences: readonly Route[] = [
  {
    method: 'put',
    path: '/user/notification-preferences',
    field: updateNotificationPreferencesField,
    tag: 'Notification preferences',
    summary: 'Update notification preferences',
    description:
      "Updates the caller's notification preferences. An item without a kind applies to all kinds. Kinds to which no " +
      'item applies keep their channels. Any update, even an empty one, stores a preference for every kind, with ' +
      'defaults where none was stored. `updated_at` changes only if a channel changes. Preferences do not affect the ' +
      'inbox.',
    body: z
      .strictObject({
        preferences: z
          .array(change)
          .max(100)
          .describe(
            'The changes, at most 100. They are applied in order, so later ones override earlier ones.',
          ),
      })
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
