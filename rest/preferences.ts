import { z } from 'zod';
import { notificationKind } from './notifications.ts';
import { body, route } from './route.ts';
import { timestamp } from './timestamp.ts';

const channels = {
  email_enabled: z.boolean().describe('The email channel.'),
  push_enabled: z.boolean().describe('The push channel.'),
  chat_dm_enabled: z.boolean().describe('The chat direct-message channel.'),
};

const effective = {
  notification_kind: notificationKind,
  ...channels,
  user_id: z.string().describe('Whose preference it is.'),
};

/** Notification preference of the specification. */
const preference = z
  .strictObject({
    ...effective,
    created_at: timestamp.describe('When it was first stored.'),
    updated_at: timestamp.describe('When a channel last changed.'),
  })
  .meta({ id: 'NotificationPreference', description: 'The channels of one kind of notification.' });

/** The same before anything is stored, too. */
const effectivePreference = z
  .strictObject({
    ...effective,
    created_at: timestamp
      .optional()
      .describe('When it was first stored; left out while the default applies.'),
    updated_at: timestamp
      .optional()
      .describe('When a channel last changed; left out while the default applies.'),
  })
  .meta({
    id: 'EffectiveNotificationPreference',
    description: 'The channels of one kind of notification. Until they are stored all are on, without times.',
  });

const change = z
  .strictObject({
    notification_kind: notificationKind
      .optional()
      .describe('The kind that it is for; every kind unless told.'),
    ...channels,
  })
  .meta({ id: 'NotificationPreferenceChange', description: 'Channels for one kind, or for all.' });

/** Reading and updating notification preferences. */
export const preferences = [
  route({
    method: 'put',
    path: '/user/notification-preferences',
    field: 'updateNotificationPreferences',
    tag: 'Notification preferences',
    summary: 'Update notification preferences',
    description:
      'Items are applied in order, later ones override earlier ones. Afterwards all four kinds are stored, with an ' +
      'empty list too; kinds that nothing is said of keep what they had. `updated_at` moves only when a channel ' +
      'changes. Preferences decide channels, never whether a notification stands in the inbox.',
    body: z
      .strictObject({
        preferences: z.array(change).max(100).describe('The changes, at most 100.'),
      })
      .meta({ id: 'NotificationPreferencesUpdate', description: 'Changes of preferences.' }),
    bind: { input: { preferences: body('preferences') } },
    reply: {
      status: 200,
      name: 'preferences',
      from: 'preferences',
      shape: z.array(preference),
      description: 'The preferences of all four kinds, as they are now.',
    },
  }),
  route({
    method: 'get',
    path: '/user/notification-preferences',
    field: 'notificationPreferences',
    tag: 'Notification preferences',
    isExtension: true,
    summary: 'List notification preferences',
    description:
      'Reading stores nothing: until a kind is stored all its channels are on, and it has no times.',
    bind: {},
    reply: {
      status: 200,
      name: 'preferences',
      shape: z.array(effectivePreference),
      description: 'The preferences of all four kinds.',
    },
  }),
];
