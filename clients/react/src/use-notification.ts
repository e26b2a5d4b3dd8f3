import type { NotificationCard } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type NotificationActions, useActions } from './use-actions.ts';
import { type Loading, nothing, useResource } from './use-resource.ts';

/** A notification, and what a user can do with it. */
export type UseNotification = Loading &
  Pick<NotificationActions, 'dismiss' | 'restore' | 'change'> & {
    /** `undefined` until it is loaded, `null` if it does not exist. */
    readonly notification: NotificationCard | null | undefined;
  };

/**
 * Returns one notification, whatever its status, and keeps it up to date. With the ID `undefined`, it loads nothing: for
 * what the user may still select.
 */
export function useNotification(id: string | undefined): UseNotification {
  const { notification } = useInboxClient();
  const { dismiss, restore, change } = useActions();
  const resource = id === undefined ? nothing : notification(id);
  const { data, isLoading, error } = useResource(resource);
  return { notification: data, isLoading, error, reload: resource.reload, dismiss, restore, change };
}
