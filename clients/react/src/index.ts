'use client';

export { InboxProvider, useInboxClient } from './inbox-provider.tsx';
export { type AnswerProgress, type UseAnswer, useAnswer } from './use-answer.ts';
export { useConnection } from './use-connection.ts';
export { type UseCounts, useCounts } from './use-counts.ts';
export { type UseDeliveries, useDeliveries } from './use-deliveries.ts';
export { type UseEditorAuth, useEditorAuth } from './use-editor-auth.ts';
export { type UseInbox, useInbox } from './use-inbox.ts';
export { type UseNotification, useNotification } from './use-notification.ts';
export { type UsePreferences, usePreferences } from './use-preferences.ts';
export type { Loading } from './use-resource.ts';
export { useStaying } from './use-staying.ts';
export { type UseWorkspaces, useWorkspaces } from './use-workspaces.ts';
