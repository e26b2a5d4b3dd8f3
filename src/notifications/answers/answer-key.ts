import { hash } from 'node:crypto';
import type { Notification } from '../notification.entity.ts';
import type { AnswerVia } from './answer.enums.ts';
import type { GivenAnswer } from './answer.ts';

/**
 * Returns a hash of what identifies a request for ever and of everything that its user is shown, base64url. It binds a link or a
 * button to what was shown: if the notification is deleted, one that is published with its ID was created later.
 */
export function hashRequest(request: Notification): string {
  const { userId, id, createdAt, kind, byTask, taskId, taskName, projectId, projectName } = request;
  const { title, payload, expiresAt, onExpiry } = request;
  const task = [byTask, taskId, taskName, projectId, projectName];
  const bound = [userId, id, createdAt, kind, task, title, payload, expiresAt, onExpiry];
  return hash('sha256', JSON.stringify(bound), 'base64url');
}

/**
 * Derives the ID of an answer from where it is given, by whom, to which request, and what it is. So the same choice again is
 * a retry, and another choice is a second answer, which receives the first one.
 * @param person identifies who answers, on this surface
 * @param requestHash see {@link hashRequest}
 */
export function deriveAnswerId(
  via: AnswerVia,
  person: string,
  requestHash: string,
  given: GivenAnswer,
): string {
  return `${via}:${hash('sha256', JSON.stringify([via, person, requestHash, given]), 'base64url')}`;
}
