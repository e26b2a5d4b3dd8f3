import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Insertable } from 'kysely';
import { type EntityManager, query } from '../database/database.ts';
import { ConflictError } from '../errors.ts';
import { type Channels, channelsOf } from '../preferences/preferences.ts';
import { lockUser, raiseRevision } from '../revisions/revisions.ts';
import { latest, type Time } from '../time.ts';
import type { Notification } from './notification.entity.ts';
import { resolveActive } from './resolve-notifications.ts';

/** What the platform gives. Without an id the gateway makes one; without `occurredAt` it is the time of arrival. */
export type NotificationDraft = Pick<
  Notification,
  | 'kind'
  | 'taskId'
  | 'taskName'
  | 'projectId'
  | 'projectName'
  | 'projectRepoUrl'
  | 'workspaceId'
  | 'title'
  | 'previewText'
  | 'prUrl'
  | 'payload'
> & { id: string | null; occurredAt: Time | null };

/** `created` is false where the same notification had come before. */
export type Publication = { notification: Notification; created: boolean; channels: Channels };

/**
 * Puts a notification into a user's inbox. An active one of the same task and kind is resolved by it.
 * @throws {ConflictError} where the id is taken by other content
 */
export async function publishNotification(
  em: EntityManager,
  userId: string,
  draft: NotificationDraft,
  now: Time,
): Promise<Publication> {
  return em.transactional(async (em) => {
    const { notifications: revision } = await lockUser(em, userId);
    const channels = await channelsOf(em, userId, draft.kind);
    const earlier = draft.id === null ? undefined : await findEarlier(em, userId, draft.id);
    if (earlier !== undefined) {
      if (!isSame(earlier, draft)) throw idTaken(draft.id);
      return { notification: earlier, created: false, channels };
    }
    const filter = { taskId: draft.taskId, kinds: [draft.kind] };
    const superseded = await resolveActive(em, { userId, filter, reason: 'superseded', revision }, now);
    const reached = revision + superseded.length + 1;
    // Never before what it takes the place of, though requests overtake each other on their way to the lock.
    const arrived = latest(now, ...superseded.map(({ updatedAt }) => updatedAt));
    const notification = await insert(em, {
      ...draft,
      userId,
      id: draft.id ?? randomUUID(),
      revision: reached,
      status: 'active',
      occurredAt: draft.occurredAt ?? arrived,
      createdAt: arrived,
      updatedAt: arrived,
    });
    await raiseRevision(em, userId, { notifications: reached });
    return { notification, created: true, channels };
  });
}

async function findEarlier(em: EntityManager, userId: string, id: string): Promise<Notification | undefined> {
  return query(em)
    .selectFrom('Notification')
    .selectAll()
    .where('userId', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst();
}

async function insert(em: EntityManager, notification: Insertable<Notification>): Promise<Notification> {
  return query(em).insertInto('Notification').values(notification).returningAll().executeTakeFirstOrThrow();
}

/** Whether a draft says what is stored; what the gateway filled in for the first is left out of the comparison. */
function isSame(stored: Notification, { occurredAt, payload, ...draft }: NotificationDraft): boolean {
  const { payload: storedPayload, occurredAt: storedTime, ...rest } = stored;
  return (
    Object.entries(draft).every(([name, value]) => Reflect.get(rest, name) === value) &&
    (occurredAt === null || occurredAt === storedTime) &&
    isDeepStrictEqual(storedPayload, JSON.parse(JSON.stringify(payload)))
  );
}

function idTaken(id: string | null): ConflictError {
  const fault = {
    path: ['input', 'id'],
    message: 'is taken by a notification with other content',
    value: id,
  };
  return new ConflictError('The id is taken by a notification with other content.', [fault]);
}
