import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { createAs } from './as.ts';
import type { TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';
import { dismiss } from './inbox.ts';
import { type Browser, createBrowser } from './push-service.ts';
import { publish } from './records.ts';
import { platform } from './tokens.ts';

type Gateway = { address: string };

/** Settings of a provider in each channel. None of them is reachable: for gateways that only write rows. */
export const unreachableProviders = {
  SMTP_URL: 'smtp://127.0.0.1:1',
  SMTP_FROM: 'Gateway <gateway@example.com>',
  VAPID_PRIVATE_KEY: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  VAPID_SUBJECT: 'mailto:ops@example.com',
  CHAT_TOKEN: 'chat-token',
  CHAT_API_URL: 'http://127.0.0.1:1',
};

/** Puts a user's contact. */
export const putContact = (
  gateway: Gateway,
  userId: string,
  contact: { email?: string; chatMemberId?: string },
) => createAs(gateway)(platform).putContact({ userId, ...contact });

/** Registers a push subscription and returns its ID. */
export async function registerPush(
  gateway: Gateway,
  userId: string,
  endpoint: string,
  { keys }: Pick<Browser, 'keys'> = createBrowser(),
): Promise<string> {
  return (await createAs(gateway)(userId).registerPush({ endpoint, keys })).id;
}

/** Puts a contact and registers a push subscription, whose ID it returns: a target in each channel. */
export async function addTargets(gateway: Gateway, userId: string): Promise<string> {
  await putContact(gateway, userId, { email: `${userId}@example.com`, chatMemberId: `U-${userId}` });
  return registerPush(gateway, userId, `https://push.example.com/${userId}`);
}

/** Lists the stored deliveries of a user as `channel state reason`, in alphabetical order. */
export async function listStored({ sql }: TestDatabase, userId: string, id?: string): Promise<unknown[]> {
  const rows = await sql(
    `select concat_ws(' ', channel, state, reason) as row from delivery
      where user_id = $1 and notification_id = coalesce($2, notification_id) order by 1`,
    [userId, id],
  );
  return rows.map(({ row }) => row);
}

/**
 * Waits until a gateway with {@link unreachableProviders} that does not send has ended the deliveries that earlier changes
 * made unwanted. It ends them in the order of the changes.
 */
export async function untilEnded(gateway: Gateway & { database: TestDatabase }): Promise<void> {
  const userId = `last-${randomUUID()}`;
  await putContact(gateway, userId, { chatMemberId: 'U-last' });
  const { id } = await publish(gateway, userId);
  await dismiss(gateway, userId, [id]);
  await eventually(async () =>
    expect(await listStored(gateway.database, userId)).toEqual(['chat cancelled settled']),
  );
}

/** Makes the deliveries of a user due now. */
export async function makeDue({ sql }: TestDatabase, userId: string): Promise<void> {
  await sql(`update delivery set due_at = now() where user_id = $1 and state in ('pending', 'sending')`, [
    userId,
  ]);
}

/** Lists the deliveries of a user's notification over the API. */
export const listShown = (gateway: Gateway, userId: string, notificationId: string) =>
  createAs(gateway)(userId).deliveries({ notificationId });

/** A delivery as the API returns it. */
export type Delivery = Awaited<ReturnType<typeof listShown>>[number];

/** Lists the deliveries of a user's notification over the API, without those that were skipped. */
export const listDeliveries = async (...of: Parameters<typeof listShown>) =>
  (await listShown(...of)).filter(({ state }) => state !== 'SKIPPED');
