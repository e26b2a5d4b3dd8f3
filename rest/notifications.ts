import { z } from 'zod';
import { dismissNotificationField } from '../src/notifications/dismiss-notifications.graphql.ts';
import { notificationsField } from '../src/notifications/notifications.graphql.ts';
import { path, query } from './argument-sources.ts';
import { notification, notificationKind, notificationStatus } from './notification-shape.ts';
import type { Route } from './route.ts';

/** Reading and dismissing notifications. */
export const notifications: readonly Route[] = [
  {
    method: 'post',
    path: '/user/notifications/{id}/dismiss',
    field: dismissNotificationField,
    tag: 'Notifications',
    summary: 'Dismiss a notification',
    description:
      'Dismisses a notification, whatever its status. Dismissing it again changes nothing, not even `updated_at`. The ' +
      'request body is ignored. The IDs `.` and `..` cannot be used in a path; dismiss those notifications with GraphQL.',
    bind: { input: { id: path('id', "The notification's ID.") } },
    reply: {
      status: 200,
      name: 'notification',
      from: 'notification',
      shape: notification,
      description: 'The dismissed notification.',
    },
  },
  {
    method: 'get',
    path: '/user/notifications',
    field: notificationsField,
    tag: 'Notifications',
    isExtension: true,
    summary: 'List notifications',
    description:
      "Returns the caller's notifications, newest first by `created_at`, then by `id` in descending order.",
    bind: {
      status: query(
        'status',
        notificationStatus,
        'Filter by status. Can be repeated. Defaults to all statuses.',
      ),
      kind: query('kind', notificationKind, 'Filter by kind. Can be repeated. Defaults to all kinds.'),
    },
    paged: true,
    reply: {
      status: 200,
      name: 'notifications',
      from: 'nodes',
      shape: z.array(notification),
      description: 'The notifications.',
    },
  },
];
