'use client';

export type { CardSlots } from './components/card.tsx';
export { de } from './components/de.ts';
export { type Dictionary, en, type Plural } from './components/dictionary.ts';
export { Inbox, type InboxProps } from './components/inbox.tsx';
export { InboxBell, type InboxBellProps } from './components/inbox-bell.tsx';
export { InboxConnection } from './components/inbox-connection.tsx';
export type { InboxSlots, InboxView } from './components/inbox-list.tsx';
export { InboxFailure, type InboxFailureProps } from './components/loaded.tsx';
export { type AnnouncementOptions, InboxMessages } from './components/messages.tsx';
export { InboxNotification, type InboxNotificationProps } from './components/notification.tsx';
export { NotificationPreferences } from './components/notification-preferences.tsx';
export { InboxLocale, type LocaleOptions } from './components/texts.tsx';
export { InboxBoundary } from './inbox-boundary.tsx';
export { InboxProvider, useInboxClient } from './inbox-provider.tsx';
export type { NotificationActions } from './use-actions.ts';
export { type AnswerProgress, type UseAnswer, useAnswer } from './use-answer.ts';
export { type ArrivalListeners, type UseArrivals, useArrivals } from './use-arrivals.ts';
export type { Changed, ChangeProgress, Changing } from './use-change.ts';
export { type UseConnection, useConnection } from './use-connection.ts';
export { type UseCounts, useCounts } from './use-counts.ts';
export { type UseDeliveries, useDeliveries } from './use-deliveries.ts';
export { type UseEditorAuth, useEditorAuth } from './use-editor-auth.ts';
export { type UseInbox, useInbox } from './use-inbox.ts';
export { type UseNotification, useNotification } from './use-notification.ts';
export { type UsePreferences, usePreferences } from './use-preferences.ts';
export type { Loading } from './use-resource.ts';
export { useStaying } from './use-staying.ts';
export {
  useSuspenseCounts,
  useSuspenseInbox,
  useSuspenseNotification,
  useSuspensePreferences,
  useSuspenseWorkspaces,
} from './use-suspense.ts';
export { type UseWorkspaces, useWorkspaces } from './use-workspaces.ts';
