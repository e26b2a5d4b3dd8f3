import { randomUUID } from 'node:crypto';
import { graphql } from './client.ts';
import type { TestDatabase } from './database.ts';
import { asMember, asPlatform } from './records.ts';
import { member, platform } from './tokens.ts';

type Gateway = { address: string };
type Input = Record<string, unknown>;

const ANSWER = `answerId by via answeredAt plan { decision feedback }
  questions { index question options labels other } reply { text }`;
const REQUEST = `state expiresAt answer { ${ANSWER} } onExpiry { ${ANSWER} } receipt { outcome message at }`;
const NOTIFICATION = `... on UserNotification { id status resolution occurredAt resolvedAt dismissedAt updatedAt
  request { ${REQUEST} } }`;
const ANSWERING = `mutation ($input: AnswerNotificationInput!) { answerNotification(input: $input) { __typename
  ... on AnswerStored { answer { ${ANSWER} } notification { ${NOTIFICATION} } }
  ... on AlreadySettled { state settledAt answer { ${ANSWER} } notification { ${NOTIFICATION} } } } }`;

/** Answers as inputs. */
export const answers = {
  approve: { plan: { decision: 'APPROVE' } },
  reject: { plan: { decision: 'REJECT', feedback: 'Too large' } },
  first: { questions: [{ index: 0, options: [0] }] },
  second: { questions: [{ index: 0, options: [1] }] },
  reply: { reply: { text: 'Go on' } },
} as const;

/** Answers a notification, with a new answer ID by default, and returns the result. */
export async function answer(gateway: Gateway, userId: string, input: Input) {
  const variables = { input: { answerId: randomUUID(), ...input } };
  return (await asMember(gateway, userId, ANSWERING, variables)).answerNotification;
}

/** Answers a notification and returns the whole reply. */
export async function sendAnswer(gateway: Gateway, userId: string, input: Input) {
  const variables = { input: { answerId: randomUUID(), ...input } };
  return graphql(gateway, ANSWERING, variables, { token: await member(userId) });
}

/** Answers a notification and returns the `extensions` of the error. */
export async function refuseAnswer(gateway: Gateway, userId: string, input: Input) {
  const { errors, text } = await sendAnswer(gateway, userId, input);
  if (errors.length === 0) throw new Error(text);
  return errors[0].extensions;
}

/** Reads a notification with its request. */
export async function readNotification(gateway: Gateway, userId: string, id: string) {
  const query = `query ($id: ID!) { notification(id: $id) { ${NOTIFICATION} } }`;
  return (await asMember(gateway, userId, query, { id })).notification;
}

/** Restores a dismissed notification. */
export async function restore(gateway: Gateway, userId: string, id: string) {
  const query = `mutation ($id: ID!) { restoreNotification(input: { id: $id }) { notification { ${NOTIFICATION} } } }`;
  return (await asMember(gateway, userId, query, { id })).restoreNotification.notification;
}

const AWAITING = `query ($userId: ID!, $id: ID!, $waitSeconds: Int) {
  request(userId: $userId, notificationId: $id, waitSeconds: $waitSeconds) { notificationId userId ${REQUEST} }
}`;

/** Reads a request as the platform, and waits for it. */
export async function awaitRequest(gateway: Gateway, userId: string, id: string, waitSeconds?: number) {
  return (await asPlatform(gateway, AWAITING, { userId, id, waitSeconds })).request;
}

/** Does the same, with a token, and returns the whole reply. */
export async function sendAwait(
  gateway: Gateway,
  userId: string,
  id: string,
  waitSeconds?: number,
  token?: string,
) {
  return graphql(
    gateway,
    AWAITING,
    { userId, id, waitSeconds },
    { token: token ?? (await platform('platform:notifications')) },
  );
}

/** Acknowledges an answer and returns the whole reply. */
export async function acknowledge(
  gateway: Gateway,
  userId: string,
  notificationId: string,
  outcome = 'ACCEPTED',
  message: string | null = null,
  token?: string,
) {
  const query = `mutation ($input: AcknowledgeAnswerInput!) {
    acknowledgeAnswer(input: $input) { notification { ${NOTIFICATION} } } }`;
  const input = { userId, notificationId, outcome, message };
  return graphql(gateway, query, { input }, { token: token ?? (await platform('platform:notifications')) });
}

/** Makes the expiry of a request due, if it has one. */
export async function makeExpired({ sql }: TestDatabase, userId: string, id: string): Promise<void> {
  await sql(
    `update notification set expires_at = now() - interval '1 minute' where user_id = $1 and id = $2 and request_state = 'open' and expires_at is not null`,
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
