import { z } from 'zod';
import { notificationKind } from './notifications.ts';
import { body, route } from './route.ts';

const channels = {
  email_enabled: z.boolean(),
  push_enabled: z.boolean(),
  chat_dm_enabled: z.boolean(),
};

/** Notification preference of the specification; the times are left out while the default applies. */
const preference = z.strictObject({
  notification_kind: notificationKind,
  ...channels,
  user_id: z.string(),
  created_at: z.iso.datetime().optional(),
  updated_at: z.iso.datetime().optional(),
});

const change = z.strictObject({ notification_kind: notificationKind.optional(), ...channels });

/** Reading and updating notification preferences. */
export const preferences = [
  route({
    method: 'put',
    path: '/user/notification-preferences',
    field: 'updateNotificationPreferences',
    body: z.strictObject({ preferences: z.array(change) }),
    bind: { input: { preferences: body('preferences') } },
    reply: { status: 200, name: 'preferences', from: 'preferences', shape: z.array(preference) },
  }),
  route({
    method: 'get',
    path: '/user/notification-preferences',
    field: 'notificationPreferences',
    bind: {},
    reply: { status: 200, name: 'preferences', shape: z.array(preference) },
  }),
];
