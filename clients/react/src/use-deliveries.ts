import type { Delivery } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type Loading, nothing, useResource } from './use-resource.ts';

/** What was sent about a notification. */
export type UseDeliveries = Loading & {
  /** `undefined` until they are loaded. */
  readonly deliveries: readonly Delivery[] | undefined;
};

/**
 * Returns the emails, push and chat messages about a notification. With the ID `undefined`, it loads nothing: for details
 * that the user may still open.
 */
export function useDeliveries(notificationId: string | undefined): UseDeliveries {
  const inbox = useInboxClient();
  const resource = notificationId === undefined ? nothing : inbox.deliveries(notificationId);
  const { data, isLoading, error } = useResource(resource);
  return { deliveries: data, isLoading, error, reload: resource.reload };
}
