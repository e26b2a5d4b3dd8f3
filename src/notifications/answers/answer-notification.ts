import { sql } from 'kysely';
import { runAndCancel } from '../../database/outbox.ts';
import { defineRowRead, type ReadParams } from '../../database/read.ts';
import { defineStatement, type Params } from '../../database/statement.ts';
import { lockExisting } from '../../database/transaction.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../errors/gateway-errors.ts';
import type { Path } from '../../errors/issue.ts';
import { type EventInput, recordEvents } from '../../platform-events/insert-events.ts';
import { incrementRevision } from '../../revisions/revisions.ts';
import type { Time } from '../../values/time.ts';
import type { Notification } from '../notification.entity.ts';
import type { Resolution } from '../notification.enums.ts';
import { findNotification } from '../notifications.ts';
import type { NotificationDependencies } from '../publish-notifications.ts';
import { changeTime } from '../update-with-revisions.ts';
import type { AnswerVia, RequestState } from './answer.enums.ts';
import {
  type Answer,
  findAnswerExcess,
  findRequestState,
  type GivenAnswer,
  isSameContent,
  toAnswerContent,
} from './answer.ts';
import { isDue, selectEventType, selectSettlement, settle } from './settle-request.ts';

/** An answer to a notification's request. The ID distinguishes a retry from a second answer. */
export type AnswerRequest = { id: string; answerId: string; given: GivenAnswer; via: AnswerVia };

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

/** The second attempt sees every notification that was committed during the first. */
const MAX_ATTEMPTS = 2;

/**
 * Stores the answer to an open request, which settles it. The first answer wins. Later ones change nothing and return the
 * winner, and so does an answer after the request expired or was withdrawn.
 * @param path the path of the answer's members in the arguments
 * @throws {NotFoundError} if the user has no such notification
 * @throws {ConflictError} if an answer with this ID and other content is stored
 * @throws {ValidationError} if the answer does not fit the request
 */
export async function answerNotification(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  { id, answerId, given, via }: AnswerRequest,
  path: Path,
): Promise<AnswerResult> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const found = await find(database, { userId, id });
    if (found === undefined) throw new NotFoundError();
    if (found.requestState === 'none') throw createNoRequestError(path, id);
    if (found.requestState === 'open') {
      // An expired request takes no answer, so the rules do not matter any more.
      const answer: Answer | null = found.isDue
        ? null
        : { ...toAnswerContent(found, given, path), answerId, by: userId, via };
      // A request that is settled already may have a larger answer, which a late retry must find.
      const excess = answer && findAnswerExcess(given);
      if (excess) throw new ValidationError([{ path, message: excess, value: given }]);
      const input = { userId, id, answer: answer && JSON.stringify(answer) };
      const [settled] = await runAndCancel({ database, outbox }, settleOpen, input);
      if (settled !== undefined) {
        announce({ user: userId, topic: 'notifications', revision: settled.revision });
        const result = toResult(settled, answerId, given, path);
        return { ...result, isNew: result.isOwn };
      }
    }
    const notification = await findNotification(database, userId, id);
    if (findRequestState(notification) !== 'open') return toResult(notification, answerId, given, path);
  }
  // The notification was deleted and published again between the attempts.
  throw new NotFoundError();
}

function toResult(
  notification: Notification,
  answerId: string,
  given: GivenAnswer,
  path: Path,
): AnswerResult {
  const { answer } = notification;
  const isOwn = answer?.answerId === answerId;
  if (isOwn && !isSameContent(answer, given)) throw createReuseError(path, answerId);
  return { state: findRequestState(notification), answer, notification, isOwn, isNew: false };
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

type Key = { userId: string; id: string };

const find = defineRowRead((db, { param }: ReadParams<Key>) =>
  db
    .selectFrom('Notification')
    .select(['kind', 'payload', 'requestState', isDue.as('isDue')])
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id')),
);

type Input = EventInput & { id: string; answer: string | null };

/**
 * Settles an open request: by its expiry if that is due, otherwise by the answer. Like a dismissal, the statement itself
 * locks the user and then the notification, and returns no row if it changes nothing.
 */
const settleOpen = defineStatement((db, params: Params<Input>) => {
  const { param } = params;
  const answer = param('answer', 'json');
  return (
    db
      .with('locked', (db) => lockExisting(db, param('userId')))
      .with('found', (db) =>
        db
          .selectFrom('Notification')
          .select(['id', 'taskId'])
          .select(selectSettlement('answered'))
          .select(sql<Time>`clock_timestamp()`.as('at'))
          .where(({ exists, selectFrom }) => exists(selectFrom('locked').select('userId')))
          .where('userId', '=', param('userId'))
          .where('id', '=', param('id'))
          .forUpdate(),
      )
      // Without an answer, only an expiry is stored.
      .with('settled', (db) =>
        db
          .selectFrom('found')
          .selectAll()
          .where('settled', 'is not', null)
          .where(sql<boolean>`(settled in ('expired', 'default') or ${answer} is not null)`),
      )
      .with('incremented', (db) => incrementRevision(db, 'notifications', 'settled', param('userId')))
      .with('events', (db) => recordEvents(db, params, ['settled', selectEventType('settled')]))
      .updateTable('Notification')
      .from(['settled', 'incremented'])
      .set((eb) => ({
        ...settle(
          'settled',
          changeTime(sql.ref('settled.at')),
          sql.lit<Resolution>('answered'),
          sql<Answer>`case settled.settled when 'answered' then ${answer} end`,
        ),
        revision: eb('incremented.before', '+', 1),
      }))
      .where('userId', '=', param('userId'))
      .whereRef('Notification.id', '=', 'settled.id')
      .returningAll('Notification')
  );
});

/** Stores the expiry of a request if it is due, and returns the notification then. */
export async function settleIfDue(
  { database, announce, outbox }: NotificationDependencies,
  userId: string,
  id: string,
): Promise<Notification | undefined> {
  const input = { userId, id, answer: null };
  const [settled] = await runAndCancel({ database, outbox }, settleOpen, input);
  if (settled !== undefined) announce({ user: userId, topic: 'notifications', revision: settled.revision });
  return settled;
}
