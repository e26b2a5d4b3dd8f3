import { randomUUID } from 'node:crypto';
import { DatabaseError } from 'pg';
import type { Outbox } from '../database/outbox.ts';
import { transaction } from '../database/transaction.ts';
import { ConflictError } from '../errors/gateway-errors.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { measureJson } from '../values/json.ts';
import type { Time } from '../values/time.ts';
import { listEnabled, listLeftToCaller } from './channel-decision.ts';
import { insertPublication } from './insert-publication.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationDraft } from './notification-draft.ts';
import { readPublications } from './read-publications.ts';

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
 * one of its task and kind. It supersedes none and is itself stored as resolved if a notification of that task and kind
 * with a later `occurredAt` is stored already, or if it occurred at or before the time up to which
 * `resolveNotifications` resolved that task and kind.
 * @throws {ConflictError} if a notification with the same ID and other content exists
 */
export async function publishNotifications(
  { database, announce, outbox }: NotificationDependencies,
  requests: readonly PublishRequest[],
  now: Time,
): Promise<Publication[]> {
  if (requests.length === 0) return [];
  const providers = [...outbox.channels];
  const drafts = requests.map(({ userId, draft }) => {
    const payload = JSON.stringify(draft.payload);
    return {
      ...draft,
      userId,
      id: draft.id ?? randomUUID(),
      payload,
      payloadSize: measureJson(draft.payload, payload),
      providers,
      now,
    };
  });
  const users = drafts.map(({ userId }) => userId);
  const ids = drafts.map(({ id }) => id);
  const [inserted, stored] = await transaction(database, users, (run) =>
    Promise.all([
      Promise.all(
        drafts.map((draft, index) =>
          run(insertPublication, draft, (error) =>
            isConflict(error) ? createConflictError(requests[index], draft.id) : error,
          ),
        ),
      ),
      run(readPublications, { users, ids, providers }),
      outbox.queuePublished(run, { users, ids }),
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
    if (row === undefined) throw new Error('A published notification was not found.');
    const { decision, isDeliverable, ...notification } = row;
    return {
      notification,
      created: inserted[index]?.length === 1,
      channels: listEnabled(decision),
      deliverByCaller: isDeliverable ? listLeftToCaller(decision) : [],
    };
  });
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
