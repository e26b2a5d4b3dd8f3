import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Viewer } from '../../auth/viewer.ts';
import type { RequestRecord, SharedContext } from '../../context.ts';
import type { Database } from '../../database/database.ts';
import { runStatement } from '../../database/statement.ts';
import {
  BadRequestError,
  InternalError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { logHiddenCause } from '../../log.ts';
import type { AnswerVia } from '../../notifications/answers/answer.enums.ts';
import type { GivenAnswer } from '../../notifications/answers/answer.ts';
import {
  type AnswerResult,
  answerNotification,
  recordAnswer,
} from '../../notifications/answers/answer-notification.ts';
import { readWhole } from '../../notifications/change-notifications.ts';
import type { Notification } from '../../notifications/notification.entity.ts';

/** A request, and the hash that binds what is shown of it. */
export type Asked = { notification: Notification; requestHash: string };

/** Reads a request; `undefined` if there is none. */
export async function findAsked(database: Database, userId: string, id: string): Promise<Asked | undefined> {
  const [notification] = await runStatement(database, readWhole, { userId, id });
  return toAsked(notification);
}

/** Returns the request of a notification; `undefined` if it has none. */
export const toAsked = (notification: Notification | undefined): Asked | undefined =>
  notification && notification.requestState !== 'none'
    ? { notification, requestHash: hashRequest(notification) }
    : undefined;

/**
 * Returns a hash of what identifies a request for ever and of everything that its user is shown, base64url. It binds a link or a
 * button to what was shown: if the notification is deleted, one that is published with its ID was created later.
 */
function hashRequest(request: Notification): string {
  const { userId, id, createdAt, kind, byTask, taskId, taskName, projectId, projectName } = request;
  const { title, payload, expiresAt, onExpiry } = request;
  const task = [byTask, taskId, taskName, projectId, projectName];
  const bound = [userId, id, createdAt, kind, task, title, payload, expiresAt, onExpiry];
  return hash('sha256', JSON.stringify(bound), 'base64url');
}

/** What answering outside of the APIs needs. */
export type AnsweringContext = Pick<SharedContext, 'database' | 'announce' | 'outbox' | 'quota' | 'readBody'>;

/** A reply with the record that the first step of all requests has opened. */
export type LoggedResponse = ServerResponse & { readonly locals: { readonly record: RequestRecord } };

/**
 * Answers a request for its user, outside of the APIs. The answer's ID is derived from where and by whom it is given
 * (`person`), what was shown, and what it is: the same choice again is a retry, and another one receives the first.
 * Nothing is stored if the notification is not the one that was shown, or once `signal` has aborted.
 * @throws {NotFoundError} if it is not
 * @throws {ValidationError} if the answer does not fit the request
 */
export async function giveAnswer(
  context: AnsweringContext,
  record: RequestRecord,
  { notification: { userId, id }, requestHash }: Asked,
  given: GivenAnswer,
  { via, person }: { via: AnswerVia; person: string },
  signal: AbortSignal,
): Promise<AnswerResult> {
  const admit = (stored: Notification) => {
    signal.throwIfAborted();
    if (hashRequest(stored) !== requestHash) throw new NotFoundError();
  };
  const content = JSON.stringify([via, person, requestHash, given]);
  const answerId = `${via}:${hash('sha256', content, 'base64url')}`;
  const result = await answerNotification(context, userId, { id, answerId, given, via, admit }, []);
  if (result.isNew) recordAnswer(record, userId, { id, via });
  return result;
}

/** How long a person waits before being asked to try again. Slack and most people give up after three seconds. */
const PATIENCE_MS = 2000;

/**
 * Does something for a person who waits, and charges the user a read for it. If it takes too long, aborts the signal.
 * @throws {RateLimitedError} if the user has sent too many requests
 */
export async function attempt<Result>(
  { quota }: AnsweringContext,
  userId: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const scopes: Viewer['scopes'] = new Set(['account:read']);
  const viewer: Viewer = { userId, caller: userId, scopes, isMember: false, expiresAt: 0, signedBy: '' };
  const charges = { admitted: 0, minimum: 1, isBlocked: false, onChange: () => undefined };
  quota.throwIfBlocked({ viewer, charges });
  await quota.chargeMinimum({ viewer, charges });
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return Promise.race([work(signal), promise]);
}

/** Returns the status and the name of the texts for why nothing was stored. Logs what the person is not told. */
export function explain(error: unknown, { log, failures }: RequestRecord) {
  if (error instanceof NotFoundError) return [404, 'invalid'] as const;
  if (error instanceof BadRequestError) return [400, 'unreadable'] as const;
  if (error instanceof ValidationError) return [422, 'incomplete'] as const;
  if (error instanceof RateLimitedError) return [429, 'busy'] as const;
  failures.push({ code: 'INTERNAL_ERROR' });
  logHiddenCause(log, error instanceof InternalError ? error : new InternalError(error));
  return [503, 'failed'] as const;
}
