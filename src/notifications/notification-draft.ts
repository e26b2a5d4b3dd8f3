import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';

/** The columns compared to recognize a repeated draft; `payload` and `occurredAt` are compared separately. */
export const draftContent = [
  'kind',
  'taskId',
  'taskName',
  'projectId',
  'projectName',
  'projectRepoUrl',
  'workspaceId',
  'title',
  'previewText',
  'prUrl',
] as const satisfies readonly (keyof Notification)[];

/**
 * A notification to publish. `id` defaults to a generated UUID. `occurredAt` defaults to now or to the `occurredAt` of
 * the newest notification of the same task and kind, whichever is later.
 */
export type NotificationDraft = Pick<Notification, (typeof draftContent)[number] | 'payload'> & {
  id: string | null;
  occurredAt: Time | null;
};
