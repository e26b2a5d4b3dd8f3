import { hash } from 'node:crypto';
import type { Notification } from '../notification.entity.ts';
import type { AnswerVia } from './answer.enums.ts';
import type { GivenAnswer } from './answer.ts';

/** What identifies a request for ever, and all that its user is shown. None of it ever changes. */
const boundProperties = [
  'userId',
  'id',
  'createdAt',
  'kind',
  'taskId',
  'taskName',
  'projectId',
  'projectName',
  'byTask',
  'title',
  'payload',
  'expiresAt',
  'onExpiry',
] as const satisfies readonly (keyof Notification)[];

/**
 * Returns a hash of a request, base64url. It binds a link or a button to what was shown: if the notification is deleted, one
 * that is published with its ID has another hash, because it was created later.
 */
export function hashRequest(notification: Notification): string {
  return hash('sha256', JSON.stringify(boundProperties.map((name) => notification[name])), 'base64url');
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
