import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';

/** What must be equal for two notifications with one ID to be the same. */
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
 * What the platform gives. Without an ID the gateway generates one. Without `occurredAt` it is the later of now and the
 * newest of the task and kind.
 */
export type NotificationDraft = Pick<Notification, (typeof draftContent)[number] | 'payload'> & {
  id: string | null;
  occurredAt: Time | null;
};
