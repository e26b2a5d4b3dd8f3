import type { NotificationCard, NotificationFilter } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type NotificationActions, useActions } from './use-actions.ts';
import { type UseConnection, useConnection } from './use-connection.ts';
import { type Loading, useResource } from './use-resource.ts';

/** A list of notifications, and what a user can do with them. */
export type UseInbox = Loading &
  NotificationActions & {
    /** Newest first. `undefined` until the first page is loaded. */
    readonly notifications: readonly NotificationCard[] | undefined;
    readonly hasMore: boolean;
    /** Loads the next page. */
    loadMore(): Promise<void>;
    readonly connection: UseConnection;
  };

/**
 * Returns the notifications that match a filter, by default the active ones, and keeps them up to date. Filters with
 * equal content select the same list, so a filter can be written inline.
 */
export function useInbox(filter?: NotificationFilter): UseInbox {
  const list = useInboxClient().notifications(filter);
  const { data, isLoading, error } = useResource(list);
  return {
    notifications: data?.notifications,
    hasMore: data?.hasMore ?? false,
    isLoading,
    error,
    loadMore: list.loadMore,
    reload: list.reload,
    ...useActions(),
    connection: useConnection(),
  };
}
