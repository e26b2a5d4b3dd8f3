import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../context.ts';
import { admitLargeReply } from '../graphql/admit-large-reply.ts';
import { findByteShare } from '../graphql/byte-share.ts';
import { readWithinShare } from '../graphql/connection.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import type { Notification } from './notification.entity.ts';
import {
  findLargeSize,
  listNotifications,
  readNotificationTexts,
  type SelectedNotification,
} from './notifications.ts';

/** The maximum number of notifications in the reply of a mutation. */
const MAX_RETURNED = 1000;

/** Describes which of the changed notifications a mutation returns. */
export const replyLimit = `at most ${MAX_RETURNED}, and not more than 16 MiB`;

/** Reads notifications that a mutation changed, oldest first, with the selected properties. */
export async function readForReply(
  context: Context,
  userId: string,
  ids: readonly string[],
  info: GraphQLResolveInfo,
): Promise<readonly SelectedNotification[]> {
  if (ids.length === 0) return [];
  const { database } = context;
  const selected = findSelectedProperties(info);
  return readWithinShare(
    {
      readRecords: (page) => listNotifications(database, userId, { ids }, page, selected),
      readTexts: (large) => readNotificationTexts(database, { userId, ids: large }, selected),
      share: findByteShare(info),
      admitLargeRead: (bytes) => admitLargeReply(context, bytes),
    },
    { backwards: true, limit: Math.min(ids.length, MAX_RETURNED) },
  );
}

/** Waits until the reply may contain a notification that a mutation changed, if it is large. */
export async function admitNotification(context: Context, notification: Notification): Promise<void> {
  const largeSize = findLargeSize(notification);
  if (largeSize !== undefined) await admitLargeReply(context, largeSize);
}
