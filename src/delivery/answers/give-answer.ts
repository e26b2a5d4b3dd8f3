import type { ServerResponse } from 'node:http';
import type { Viewer } from '../../auth/viewer.ts';
import type { RequestRecord, SharedContext } from '../../context.ts';
import type { Database } from '../../database/database.ts';
import { runStatement } from '../../database/statement.ts';
import { InternalError, NotFoundError } from '../../errors/gateway-errors.ts';
import { audit, logHiddenCause } from '../../log.ts';
import type { AnswerVia } from '../../notifications/answers/answer.enums.ts';
import type { GivenAnswer } from '../../notifications/answers/answer.ts';
import { deriveAnswerId, hashRequest } from '../../notifications/answers/answer-key.ts';
import { type AnswerResult, answerNotification } from '../../notifications/answers/answer-notification.ts';
import { readWhole } from '../../notifications/change-notifications.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import type { Contact } from '../contact.entity.ts';
import { findContact } from '../contacts.ts';

/** A request, the hash that binds what is shown of it, and the contact of its user. */
export type Asked = { notification: Notification; requestHash: string; contact: Contact | undefined };

/** Reads a request with its user's contact; `undefined` if there is none. */
export async function findAsked(database: Database, userId: string, id: string): Promise<Asked | undefined> {
  const [[notification], contact] = await Promise.all([
    runStatement(database, readWhole, { userId, id }),
    findContact(database, userId),
  ]);
  if (notification === undefined || notification.requestState === 'none') return undefined;
  return { notification, requestHash: hashRequest(notification), contact };
}

/** Where an answer is given, and who gives it there. */
export type Surface = { via: AnswerVia; person: string };

/** What answering outside of the APIs needs. */
export type AnsweringContext = Pick<SharedContext, 'database' | 'announce' | 'outbox' | 'quota' | 'readBody'>;

/** A reply with the record that the first step of all requests has opened. */
export type LoggedResponse = ServerResponse & { readonly locals: { readonly record: RequestRecord } };

/**
 * Answers a request for its user, outside of the APIs. Nothing is stored if the notification is not the one that was shown, or
 * once `signal` has aborted.
 * @throws {NotFoundError} if it is not
 * @throws {ValidationError} if the answer does not fit the request
 */
export async function giveAnswer(
  context: AnsweringContext,
  { log, answered }: RequestRecord,
  { notification: { userId, id }, requestHash }: Asked,
  given: GivenAnswer,
  { via, person }: Surface,
  signal: AbortSignal,
): Promise<AnswerResult> {
  const admit = (stored: Notification) => {
    signal.throwIfAborted();
    if (hashRequest(stored) !== requestHash) throw new NotFoundError();
  };
  const answerId = deriveAnswerId(via, person, requestHash, given);
  const result = await answerNotification(context, userId, { id, answerId, given, via, admit }, []);
  if (result.isNew) {
    audit(log, 'notification.answered', userId, userId, { notification: id, via });
    answered.push(id);
  }
  return result;
}

/** How long a person waits before being asked to try again. Slack and most people give up after three seconds. */
const PATIENCE_MS = 2000;

/** Does something for a person who waits. Rejects with a `TimeoutError`, and aborts the signal, if it takes too long. */
export async function whilePatient<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return Promise.race([work(signal), promise]);
}

/**
 * Charges a user for a request without a token, as a read.
 * @throws {RateLimitedError} if the user has sent too many
 */
export async function chargeUser({ quota }: AnsweringContext, userId: string): Promise<void> {
  const scopes: Viewer['scopes'] = new Set(['account:read']);
  const viewer: Viewer = { userId, scopes, isMember: false, expiresAt: 0, signedBy: '' };
  const charges = { admitted: 0, minimum: 1, isBlocked: false, onChange: () => undefined };
  quota.throwIfBlocked({ viewer, charges });
  await quota.chargeMinimum({ viewer, charges });
}

/** Logs and counts a failure of which the person sees only that nothing was stored. */
export function logFailure(error: unknown, { log, failures }: RequestRecord): void {
  failures.push({ code: 'INTERNAL_ERROR' });
  logHiddenCause(log, error instanceof InternalError ? error : new InternalError(error));
}
