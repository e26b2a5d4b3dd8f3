import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ChatAnswer, type ChatApi, startChatApi } from '../support/chat-api.ts';
import { listDeliveries, putContact, registerPush, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { acceptExcept, startBrokenServer } from '../support/mail-server.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { publish } from '../support/records.ts';
import type { TestServer } from '../support/servers.ts';
import { platform } from '../support/tokens.ts';

/*
 * The result of an attempt is unknown if its reply was lost or its sender stopped. What is shown of such a delivery
 * must not contradict what the user has received.
 */

/** Whether the mail server and the push service accept a message and then close the connection. */
let losesReplies = true;
let searchable: ChatApi;
let chat: ChatApi;
let mail: TestServer;
let push: PushService;
/** Its chat token may read the history. */
let searching: TestGateway;
/** Its chat token may not. */
let gateway: TestGateway;
beforeAll(async () => {
  [chat, searchable] = await Promise.all([startChatApi(), startChatApi()]);
  searchable.grant('im:history', 'im:write');
  const accepted = acceptExcept({});
  mail = await startBrokenServer(
    '220 mail.test',
    acceptExcept({ '.': (socket) => (losesReplies ? socket.destroy() : accepted('RSET', socket)) }),
  );
  push = await startPushService((response, socket) => {
    if (losesReplies) socket.destroy();
    else response.writeHead(201).end();
  });
  const settings = {
    ...unreachableProviders,
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    DELIVERY_EMAIL_DELAY_SECONDS: '0',
    PUSH_ALLOWED_HOSTS: push.host,
  };
  gateway = await startTestGateway({ ...settings, CHAT_API_URL: chat.url });
  searching = await startTestGateway({ ...settings, CHAT_API_URL: searchable.url });
});
beforeEach(() => {
  losesReplies = true;
});
afterAll(async () => {
  await Promise.all([gateway.close(), searching.close()]);
  await Promise.all([push.close(), mail.close(), chat.close(), searchable.close()]);
});

const expectShown = async (on: TestGateway, userId: string, id: string, expected: object) => {
  const deliveries = await listDeliveries(on, userId, id);
  expect(deliveries.length).toBeGreaterThan(0);
  expect(deliveries).toEqual(deliveries.map(() => expect.objectContaining(expected)));
};

/** What is shown of a delivery. */
type Shown = { state: string; reason?: string; attempts?: number };

/** Waits until all deliveries of a notification match. Until then, attempts, as many as are expected, are not delayed. */
async function expectDelivery(on: TestGateway, userId: string, id: string, expected: Shown): Promise<void> {
  await eventually(async () => {
    try {
      await expectShown(on, userId, id, expected);
    } catch (error) {
      await on.database.sql(
        `update delivery set due_at = now()
           where user_id = $1 and state = 'pending' and due_at > now() and attempts < $2`,
        [userId, expected.attempts ?? 1000],
      );
      throw error;
    }
  });
}

const settled = { state: 'MAYBE_DELIVERED', reason: 'SETTLED', deliveredAt: null, nextAttemptAt: null };
const lost = { state: 'PENDING', reason: 'REPLY_LOST' };
const notJson = { status: 200, body: 'not JSON' };

/** Publishes to a chat member, of whose message the reply is lost. */
async function publishInChat(userId: string, answer: ChatAnswer = 'no reply'): Promise<string> {
  await putContact(searching, userId, { chatMemberId: `U-${userId}` });
  searchable.answer(answer);
  const { id } = await publish(searching, userId);
  await eventually(() => expectShown(searching, userId, id, lost));
  return id;
}

const disableChannels = (on: TestGateway, userId: string) =>
  on.as(userId).updatePreferences({
    preferences: [{ emailEnabled: false, pushEnabled: false, chatDmEnabled: false }],
  });

const sentTo = (userId: string) => searchable.messages.filter(({ memberId }) => memberId === `U-${userId}`);
const expectUpdated = (userId: string) =>
  eventually(() => expect(sentTo(userId)).toMatchObject([{ updates: [expect.stringContaining('Done')] }]));

describe('an email, a push message and a chat message of which the replies were lost', () => {
  /** Publishes a notification over all channels, whose first attempts are accepted without a reply. */
  async function loseReplies(userId: string): Promise<string> {
    await registerPush(gateway, userId, `https://${push.host}/${userId}`);
    await putContact(gateway, userId, { email: `${userId}@example.com`, chatMemberId: `U-${userId}` });
    chat.answer('no reply');
    const { id } = await publish(gateway, userId);
    await eventually(() => expectShown(gateway, userId, id, lost));
    expect(await listDeliveries(gateway, userId, id)).toHaveLength(3);
    return id;
  }
  const update = (userId: string, columns: string) =>
    gateway.database.sql(`update delivery set ${columns} where user_id = $1`, [userId]);

  test('may have been delivered if they are settled', async () => {
    const id = await loseReplies('settled');
    await dismiss(gateway, 'settled', [id]);
    await expectDelivery(gateway, 'settled', id, settled);
  });

  test('may have been delivered if the channels are disabled', async () => {
    const id = await loseReplies('disabled');
    await disableChannels(gateway, 'disabled');
    await expectDelivery(gateway, 'disabled', id, { ...settled, reason: 'CHANNEL_DISABLED' });
  });

  test('may have been delivered if they expire, and can be retried', async () => {
    const id = await loseReplies('expired');
    await update('expired', 'expires_at = now()');
    await expectDelivery(gateway, 'expired', id, { ...settled, reason: 'EXPIRED' });
    losesReplies = false;
    expect(await gateway.as(platform).retryDeliveries({ filter: { userIds: ['expired'] } })).toBe(3);
    await expectDelivery(gateway, 'expired', id, { state: 'DELIVERED' });
  });

  test('may have been delivered if they are settled after their lease expired', async () => {
    const id = await loseReplies('lease');
    // As if the only attempts were those of a sender that stopped.
    const claimed = `state = 'sending', reason = null, may_be_delivered = false`;
    await update('lease', `${claimed}, due_at = now() + interval '1 h'`);
    await dismiss(gateway, 'lease', [id]);
    await update('lease', 'due_at = now()');
    await expectDelivery(gateway, 'lease', id, settled);
  });
});

test.each<[what: string, answers: ChatAnswer[], expected: Shown]>([
  ['an unclear failure', [{ error: 'internal_error' }], settled],
  ['a clear failure', [{ status: 503, body: '' }], { state: 'CANCELLED', reason: 'SETTLED' }],
  ['a clear failure after a lost reply', ['no reply', { status: 503, body: '' }], settled],
])(
  'of a message that is settled after %s, its delivery says whether it may have arrived',
  async (what, answers, expected) => {
    const userId = what.replaceAll(' ', '-');
    await putContact(gateway, userId, { chatMemberId: `U-${userId}` });
    chat.answer(...answers);
    const { id } = await publish(gateway, userId);
    await expectDelivery(gateway, userId, id, { state: 'PENDING', attempts: answers.length });
    await dismiss(gateway, userId, [id]);

    await expectDelivery(gateway, userId, id, expected);
  },
);

describe('if the chat token may read the history', () => {
  test('a message whose reply was lost is found instead of sent again, also among later ones, and updated', async () => {
    const id = await publishInChat('paged');
    for (let count = 0; count < 5; count += 1) {
      const later = await publish(searching, 'paged');
      await eventually(() => expectShown(searching, 'paged', later.id, { state: 'DELIVERED' }));
    }
    await expectDelivery(searching, 'paged', id, { state: 'DELIVERED' });
    expect(sentTo('paged')).toHaveLength(6);
    await dismiss(searching, 'paged', [id]);
    await eventually(() => expect(sentTo('paged')[0]?.updates).toHaveLength(1));
  });

  test('a message that the chat never received is sent again', async () => {
    const id = await publishInChat('never-received', notJson);

    await expectDelivery(searching, 'never-received', id, { state: 'DELIVERED', attempts: 2 });
    expect(sentTo('never-received')).toHaveLength(1);
  });

  test('a found message of a disabled channel is still updated when it is settled', async () => {
    const id = await publishInChat('found-disabled');
    await disableChannels(searching, 'found-disabled');
    await expectDelivery(searching, 'found-disabled', id, { state: 'DELIVERED' });
    await dismiss(searching, 'found-disabled', [id]);

    await expectUpdated('found-disabled');
  });

  test('a search that fails is repeated', async () => {
    const id = await publishInChat('search-repeated');
    let failures = 0;
    searchable.setAnswer(({ method }) => {
      if (method !== 'conversations.history' || failures === 2) return 'ok';
      failures += 1;
      return failures === 1 ? 'cut reply' : { error: 'ratelimited', status: 429 };
    });
    await dismiss(searching, 'search-repeated', [id]);

    await expectDelivery(searching, 'search-repeated', id, { state: 'DELIVERED' });
    expect(failures).toBe(2);
  });
});
