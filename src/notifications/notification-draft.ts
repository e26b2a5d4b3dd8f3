import type { Time } from '../values/time.ts';
import type { SupersedeScope } from './answers/answer.enums.ts';
import type { AnswerContent } from './answers/answer.ts';
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
} & RequestDraft;

/**
 * What a draft says about its request: which others it supersedes, when it expires (by time, by duration, or never), and
 * the answer that it then has.
 */
export type RequestDraft = Pick<Notification, 'expiresAt' | 'expiresInSeconds'> & {
  supersedes: SupersedeScope;
  onExpiry: AnswerContent | null;
};
