import type { RequestRecord } from '../../context.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../errors/gateway-errors.ts';
import type { Path } from '../../errors/issue.ts';
import { audit } from '../../log.ts';
import {
  changeNotifications,
  type NotificationDependencies,
  readByIds,
  readWhole,
} from '../change-notifications.ts';
import {
  acknowledge,
  answer,
  applyPatch,
  expire,
  isDue,
  settleInOrder,
  toChanges,
  toState,
} from '../lifecycle.ts';
import type { Notification } from '../notification.entity.ts';
import type { AnswerVia, RequestState } from './answer.enums.ts';
import {
  type Answer,
  findAnswerExcess,
  findRequestState,
  type GivenAnswer,
  isSameContent,
  type Receipt,
  toAnswerContent,
} from './answer.ts';

/**
 * An answer to a notification's request. The ID distinguishes a retry from a second answer. `admit` throws if the
 * notification is not the one that was shown.
 */
export type AnswerRequest = {
  id: string;
  answerId: string;
  given: GivenAnswer;
  via: AnswerVia;
  admit?: (notification: Notification) => void;
};

/** Logs an answer that was stored, and counts it in the metrics. */
export function recordAnswer(
  { log, answered }: Pick<RequestRecord, 'log' | 'answered'>,
  userId: string,
  { id, via }: Pick<AnswerRequest, 'id' | 'via'>,
): void {
  audit(log, 'notification.answered', userId, userId, { notification: id, via });
  answered.push(id);
}

/**
 * The result of answering: how the request is settled, and the answer if it has one. `isOwn`: it is the given answer,
 * from this call (`isNew`) or from one that this call repeats.
 */
export type AnswerResult = {
  state: RequestState;
  answer: Answer | null;
  notification: Notification;
  isOwn: boolean;
  isNew: boolean;
};

/**
 * Stores the answer to an open request, which settles it. The first answer wins. Later ones change nothing and return the
 * winner, and so does an answer after the request expired or was withdrawn.
 * @param path the path of the answer's members in the arguments
 * @throws {NotFoundError} if the user has no such notification
 * @throws {ConflictError} if an answer with this ID and other content is stored
 * @throws {ValidationError} if the answer does not fit the request
 */
export async function answerNotification(
  dependencies: NotificationDependencies,
  userId: string,
  { id, answerId, given, via, admit }: AnswerRequest,
  path: Path,
): Promise<AnswerResult> {
  const [result] = await changeNotifications(dependencies, userId, {
    read: (read) => read(readWhole, { userId, id }),
    decide([found], moment) {
      if (found === undefined) throw new NotFoundError();
      admit?.(found);
      if (found.requestState === 'none') throw createNoRequestError(path, id);
      // A settled request takes no answer, so the rules do not matter any more.
      const mayAnswer = found.requestState === 'open' && !isDue(found, moment.at);
      const step = mayAnswer
        ? answer(toState(found), moment, { ...toContent(found, given, path), answerId, by: userId, via })
        : expire(toState(found), moment);
      const notification = applyPatch(found, step?.patch);
      const result = toResult(notification, answerId, given, path);
      return { ...toChanges([step]), result: { ...result, isNew: result.isOwn && mayAnswer } };
    },
  });
  if (result === undefined) throw new Error('An answer has a result.');
  return result;
}

/** A request that is settled already may have a larger answer, which a late retry must find. */
function toContent(found: Notification, given: GivenAnswer, path: Path) {
  const content = toAnswerContent(found, given, path);
  const excess = findAnswerExcess(given);
  if (excess) throw new ValidationError([{ path, message: excess, value: given }]);
  return content;
}

function toResult(
  notification: Notification,
  answerId: string,
  given: GivenAnswer,
  path: Path,
): Omit<AnswerResult, 'isNew'> {
  const { answer } = notification;
  const isOwn = answer?.answerId === answerId;
  if (isOwn && !isSameContent(answer, given)) throw createReuseError(path, answerId);
  return { state: findRequestState(notification), answer, notification, isOwn };
}

function createNoRequestError(path: Path, id: string): ValidationError {
  return new ValidationError([
    { path: [...path, 'id'], message: 'is the ID of a notification that asks for no answer', value: id },
  ]);
}

function createReuseError(path: Path, answerId: string): ConflictError {
  const issue = {
    path: [...path, 'answerId'],
    message: 'is taken by an answer with other content',
    value: answerId,
  };
  return new ConflictError('ANSWER_ID_REUSED', 'An answer with this ID and other content already exists.', [
    issue,
  ]);
}

/**
 * Stores what the task did with the answer to a request. The first receipt stays; later ones change nothing.
 * @param admit throws if the caller may not acknowledge the answer of a notification
 * @throws {NotFoundError} if the user has no such notification
 * @throws {ConflictError} if it has no answer
 */
export async function acknowledgeAnswer(
  dependencies: NotificationDependencies,
  { userId, id }: { userId: string; id: string },
  receipt: Omit<Receipt, 'at'>,
  admit: (notification: Notification) => void,
): Promise<Notification> {
  const [notification] = await changeNotifications(dependencies, userId, {
    read: (read) => read(readWhole, { userId, id }),
    decide([found], moment) {
      if (found === undefined) throw new NotFoundError();
      admit(found);
      const step = acknowledge(toState(found), moment, { ...receipt, at: moment.at });
      return { ...toChanges([step]), result: applyPatch(found, step?.patch) };
    },
  });
  // An expiry without a default is stored all the same.
  if (!notification?.receipt) throw new ConflictError('NOT_ANSWERED', 'The request has no answer.');
  return notification;
}

/** Stores the expiries of a user's requests that are due. */
export async function storeExpiries(
  dependencies: NotificationDependencies,
  userId: string,
  ids: readonly string[],
): Promise<void> {
  await changeNotifications(dependencies, userId, {
    read: (read) => read(readByIds, { userId, ids }),
    decide: (states, moment) => ({ ...toChanges(settleInOrder(states, moment, expire)), result: undefined }),
  });
}
