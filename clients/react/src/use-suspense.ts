import type {
  Counts,
  NotificationCard,
  NotificationFilter,
  Preference,
  WorkspaceCard,
  WorkspaceFilter,
} from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type UseCounts, useCounts } from './use-counts.ts';
import { type UseInbox, useInbox } from './use-inbox.ts';
import { type UseNotification, useNotification } from './use-notification.ts';
import { type UsePreferences, usePreferences } from './use-preferences.ts';
import { useSuspended } from './use-resource.ts';
import { type UseWorkspaces, useWorkspaces } from './use-workspaces.ts';

/*
 * Variants of the hooks for React's `<Suspense>`: the component is shown when there is data. If the first load fails, they
 * throw its `GatewayError` to the next error boundary, such as `<InboxBoundary>`.
 */

/** Returns the notifications that match a filter, like `useInbox`. */
export function useSuspenseInbox(
  filter?: NotificationFilter,
): UseInbox & { readonly notifications: readonly NotificationCard[] } {
  const { notifications } = useSuspended(useInboxClient().notifications(filter));
  return { ...useInbox(filter), notifications };
}

/** Returns one notification, or null if it does not exist, like `useNotification`. */
export function useSuspenseNotification(
  id: string,
): UseNotification & { readonly notification: NotificationCard | null } {
  const notification = useSuspended(useInboxClient().notification(id));
  return { ...useNotification(id), notification };
}

/** Returns the numbers of active notifications and of open requests, like `useCounts`. */
export function useSuspenseCounts(): UseCounts & { readonly counts: Counts } {
  const counts = useSuspended(useInboxClient().counts);
  return { ...useCounts(), counts };
}

/** Returns the workspaces that match a filter, like `useWorkspaces`. */
export function useSuspenseWorkspaces(
  filter?: WorkspaceFilter,
): UseWorkspaces & { readonly workspaces: readonly WorkspaceCard[] } {
  const { workspaces } = useSuspended(useInboxClient().workspaces(filter));
  return { ...useWorkspaces(filter), workspaces };
}

/** Returns the channels of each kind of notification, like `usePreferences`. */
export function useSuspensePreferences(): UsePreferences & { readonly preferences: readonly Preference[] } {
  const preferences = useSuspended(useInboxClient().preferences);
  return { ...usePreferences(), preferences };
}
