import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../context.ts';
import { MAX_PAGE_SIZE } from '../graphql/page-arguments.ts';
import { findSelectedProperties } from '../graphql/selected-fields.ts';
import { notificationList, type SelectedNotification } from './notifications.ts';

/** Describes which of the changed notifications a mutation returns. */
export const replyLimit = `at most ${MAX_PAGE_SIZE}`;

/** The maximum length of a list of changed notifications, for the cost of a document. */
export const changedList = { listLength: MAX_PAGE_SIZE };

/** Reads notifications that a mutation changed, oldest first, with the selected properties. */
export async function readForReply(
  { database }: Context,
  userId: string,
  ids: readonly string[],
  info: GraphQLResolveInfo,
): Promise<readonly SelectedNotification[]> {
  if (ids.length === 0) return [];
  const page = { backwards: true, limit: MAX_PAGE_SIZE };
  return notificationList.read(database, userId, { filter: { ids }, page }, findSelectedProperties(info));
}
