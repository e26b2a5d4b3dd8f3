import { randomUUID } from 'node:crypto';
import { Notification } from '../../clients/typescript/src/generated/documents.ts';
import type { AnswerNotificationInput } from '../../clients/typescript/src/generated/types.ts';
import { createAs, type Given, type Who } from './as.ts';
import type { TestDatabase } from './database.ts';
import { platform } from './tokens.ts';

type Gateway = { address: string };

/** Answers as inputs. */
export const answers = {
  approve: { plan: { decision: 'APPROVE' } },
  reject: { plan: { decision: 'REJECT', feedback: 'Too large' } },
  first: { questions: [{ index: 0, options: [0] }] },
  second: { questions: [{ index: 0, options: [1] }] },
  reply: { reply: { text: 'Go on' } },
} as const;

/** Answers a notification, with a new answer ID by default, and returns the result. */
export const answer = (gateway: Gateway, userId: string, input: Given<AnswerNotificationInput>) =>
  createAs(gateway)(userId).answer({ answerId: randomUUID(), ...input });

/** Reads a notification with its request. */
export const readNotification = async (gateway: Gateway, userId: string, id: string) =>
  (await createAs(gateway)(userId).run(Notification.text, { id })).notification;

/** Reads a request as the platform, and waits for it. */
export const awaitRequest = (gateway: Gateway, userId: string, id: string, waitSeconds?: number) =>
  createAs(gateway)(platform).request({ userId, notificationId: id, waitSeconds });

/** Acknowledges an answer, as the platform or by a token, and returns the request. */
export async function acknowledge(
  gateway: Gateway,
  userId: string,
  notificationId: string,
  outcome = 'ACCEPTED',
  message: string | null = null,
  who: Who = platform,
) {
  const input = { userId, notificationId, outcome, message };
  return (await createAs(gateway)(who).acknowledge(input)).request;
}

/**
 * Makes the expiry of a request due, if it is open and has one. As each change of what decisions read must, it moves the
 * user's revision, or the statement of another change that runs meanwhile would fail.
 */
export async function makeExpired({ sql }: TestDatabase, userId: string, id: string): Promise<void> {
  const isOpen = `user_id = $1 and id = $2 and request_state = 'open' and expires_at is not null`;
  await sql(
    `with moved as (update user_revision set notifications = notifications + 1
       where user_id = $1 and exists (select from notification where ${isOpen}) returning 1)
     update notification set expires_at = now() - interval '1 minute' where ${isOpen} and exists (select from moved)`,
    [userId, id],
  );
}

/** Lists the events of a user that the platform reads, as `type id`, in order. */
export async function listEvents({ sql }: TestDatabase, userId: string): Promise<string[]> {
  const rows = await sql(
    `select concat_ws(' ', replace(type, 'notification.', ''), notification_id) as event from platform_event
      where user_id = $1 order by id`,
    [userId],
  );
  return rows.map(({ event }) => String(event));
}

/** Returns the current revision of a user's notifications. */
export async function currentRevision({ sql }: TestDatabase, userId: string): Promise<number> {
  const rows = await sql('select notifications::int as revision from user_revision where user_id = $1', [
    userId,
  ]);
  return Number(rows[0]?.revision ?? 0);
}
