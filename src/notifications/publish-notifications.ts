import { randomUUID } from 'node:crypto';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { DatabaseError } from 'pg';
import type { Database, Tables } from '../database/database.ts';
import type { Outbox, PublishedKeys } from '../database/outbox.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import { ConflictError, ValidationError } from '../errors/gateway-errors.ts';
import type { Path, ValidationIssue } from '../errors/issue.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import { findExcess } from '../values/constraints.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type Time, toMilliseconds } from '../values/time.ts';
import type { SupersedeScope } from './answers/answer.enums.ts';
import { asksUser, findAnswerExcess } from './answers/answer.ts';
import { isDeliverable, listEnabled, listLeftToCaller } from './channel-decision.ts';
import { insertPublication, insertWithinBudget } from './insert-publication.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationDraft } from './notification-draft.ts';
import { hasNotification } from './notifications.ts';
import type { NotificationPayload } from './payload.ts';
import { MAX_BYTES, OPEN_MESSAGE, removeForRoom, STORED_MESSAGE } from './task-budget.ts';

/** A draft, the user to publish it to, and its path in the arguments. */
export type PublishRequest = { userId: string; draft: NotificationDraft; path: readonly (string | number)[] };

/**
 * A published notification. `created` is `false` if the same notification was stored already. `channels` are the
 * channels that the user's preferences enabled when it was stored, and `deliverByCaller` those of them over which the
 * caller delivers.
 */
export type Publication = {
  notification: Notification;
  created: boolean;
  channels: DeliveryChannel[];
  deliverByCaller: DeliveryChannel[];
};

/** The dependencies of publishing and settling notifications. A `Context` can be passed. */
export type NotificationDependencies = ChangeDependencies & { readonly outbox: Outbox };

/**
 * Stores notifications in order, all or none, and returns their final states. A new notification supersedes the active
 * ones of its task and kind, or of its slot, and withdraws their open requests. It supersedes none and is itself stored
 * as resolved if a notification of its slot with a later `occurredAt` is stored already, or if it occurred at or before
 * the time up to which `resolveNotifications` resolved that task and kind.
 * @param byTask whether a task token publishes them, which has a budget: see task-budget.ts
 * @throws {ConflictError} if a notification with the same ID and other content exists, or if the task has used up its
 *   budget
 * @throws {ValidationError} if a draft expires in the past or is too large
 */
export async function publishNotifications(
  { database, announce, outbox }: NotificationDependencies,
  requests: readonly PublishRequest[],
  now: Time,
  byTask = false,
): Promise<Publication[]> {
  if (requests.length === 0) return [];
  await refuseUnlessStored(database, requests, byTask);
  const providers = [...outbox.channels];
  const drafts = requests.map(({ userId, draft: { supersedes, onExpiry, ...draft }, path }) => {
    const payload = JSON.stringify(draft.payload);
    const id = draft.id ?? randomUUID();
    return {
      ...draft,
      userId,
      id,
      payload,
      slot: findSlot(supersedes, { id, payload: draft.payload }, path),
      everySlot: supersedes === 'task_and_kind',
      isRequest: asksUser(draft),
      onExpiry: onExpiry && JSON.stringify({ ...onExpiry, answerId: null, by: null, via: 'default' }),
      providers,
      now,
    };
  });
  const users = drafts.map(({ userId }) => userId);
  const ids = drafts.map(({ id }) => id);
  const insert = byTask ? insertWithinBudget : insertPublication;
  const [inserted, stored, , removals] = await transaction(database, users, (run) =>
    Promise.all([
      Promise.all(
        drafts.map((draft, index) => {
          const toShown = (error: Error) =>
            isConflict(error) ? createConflictError(requests[index], draft.id) : error;
          return run(insert, draft, toShown);
        }),
      ),
      run(readPublications, { users, ids }),
      outbox.queuePublished(run, { users, ids }, now),
      Promise.all(byTask ? drafts.map((draft) => run(removeForRoom, draft)) : []),
    ]),
  );
  const revisions = new Map<string, number>();
  for (const [index, [row]] of inserted.entries()) {
    const user = users[index];
    if (row !== undefined && user !== undefined) revisions.set(user, row.revision);
  }
  if (revisions.size > 0) {
    announce(Array.from(revisions, ([user, revision]) => ({ user, topic: 'notifications', revision })));
  }
  return drafts.map(({ userId, id }, index) => {
    const row = stored.find((row) => row.userId === userId && row.id === id);
    if (row === undefined) throw createLimitError(removals[index]?.[0]);
    const { isDeliverable, ...notification } = row;
    const { skippedChannels } = notification;
    return {
      notification,
      created: inserted[index]?.length === 1,
      channels: listEnabled(skippedChannels),
      deliverByCaller: isDeliverable ? listLeftToCaller(skippedChannels) : [],
    };
  });
}

/**
 * Refuses drafts that expire in the past or are too large, unless a notification with the ID is stored: a late retry must
 * find it, and earlier versions stored larger ones.
 * @throws {ValidationError} if there are any
 */
async function refuseUnlessStored(
  database: Database,
  requests: readonly PublishRequest[],
  byTask: boolean,
): Promise<void> {
  const refused = requests.flatMap((request) => {
    const issues = findDraftIssues(request, byTask);
    return issues.length > 0 ? { request, issues } : [];
  });
  const found = await Promise.all(
    refused.map(
      async ({
        request: {
          userId,
          draft: { id },
        },
      }) => id !== null && (await hasNotification(database, userId, id)),
    ),
  );
  const issues = refused.flatMap(({ issues }, index) => (found[index] ? [] : issues));
  if (issues.length > 0) throw new ValidationError(issues);
}

function findDraftIssues({ draft, path }: PublishRequest, byTask: boolean): ValidationIssue[] {
  const { expiresAt, payload, onExpiry } = draft;
  const isExpired = expiresAt !== null && toMilliseconds(expiresAt) <= Date.now();
  const messages = [
    { name: 'expiresAt', value: expiresAt, message: isExpired ? 'must be in the future' : undefined },
    {
      name: 'payload',
      value: payload,
      message: findExcess(payload, byTask && !asksUser(draft) ? MAX_BYTES.payload : undefined),
    },
    { name: 'onExpiry', value: onExpiry, message: onExpiry ? findAnswerExcess(onExpiry) : undefined },
    {
      name: [],
      value: draft,
      message: byTask ? findExcess(draft, MAX_BYTES.draft) : undefined,
    },
  ];
  return messages.flatMap(({ name, value, message }) =>
    message === undefined ? [] : { path: path.concat(name), message, value },
  );
}

function createLimitError(task: { isFull: boolean } | undefined): Error {
  if (task === undefined) return new Error('A published notification was not found.');
  return new ConflictError('LIMIT_REACHED', task.isFull ? STORED_MESSAGE : OPEN_MESSAGE);
}

/** Whether an error means that the ID exists with other content. A draft with the same content is not inserted. */
function isConflict(error: Error): boolean {
  return error instanceof DatabaseError && error.constraint === 'notification_pkey';
}

function createConflictError(request: PublishRequest | undefined, id: string): ConflictError {
  const message = 'is taken by a notification with other content';
  const issue = { path: [...(request?.path ?? []), 'id'], message, value: id };
  return new ConflictError('ID_REUSED', 'A notification with this ID and other content already exists.', [
    issue,
  ]);
}

/** Selects from the notifications with the given users and IDs. */
export function selectFromKeys(db: Pick<Kysely<Tables>, 'selectFrom'>, { param }: Params<PublishedKeys>) {
  const keys: RawBuilder<{ user: string; notification: string }> = sql`unnest(
    ${param('users', 'text[]')}, ${param('ids', 'text[]')})`;
  return db
    .selectFrom(keys.as<'keys'>(sql`keys ("user", notification)`))
    .innerJoin('Notification', (join) =>
      join.onRef('Notification.userId', '=', 'keys.user').onRef('Notification.id', '=', 'keys.notification'),
    );
}

/** Reads notifications by user and ID, and whether they may still be delivered. */
export const readPublications = defineStatement((db, params: Params<PublishedKeys>) =>
  selectFromKeys(db, params)
    .selectAll('Notification')
    .select(isDeliverable('Notification').as('isDeliverable')),
);

/**
 * Returns the slot of a publication: one for the task and kind, one for each tool call, or one of its own.
 * @throws {ValidationError} for `tool_call` without a tool ID in the payload
 */
function findSlot(
  supersedes: SupersedeScope,
  { id, payload }: { id: string; payload: NotificationPayload },
  path: Path,
): string {
  if (supersedes === 'task_and_kind') return '';
  if (supersedes === 'nothing') return `id:${id}`;
  if ('toolId' in payload) return `tool:${payload.toolId}`;
  const message = 'must not be TOOL_CALL, because the payload has no tool ID';
  throw new ValidationError([{ path: [...path, 'supersedes'], message, value: 'TOOL_CALL' }]);
}
