import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import {
  listDeliveries,
  makeDue,
  putContact,
  registerPush,
  unreachableProviders,
} from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { acceptExcept, type BrokenServer, startBrokenServer } from '../support/mail-server.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { asMember, asPlatform, publish } from '../support/records.ts';
import { updateStatistics } from '../support/statistics.ts';

/*
 * The result of an attempt is unknown if its reply was lost or its sender stopped. What is shown of such a delivery
 * must not contradict what the user has received.
 */

/** Whether the mail server and the push service accept a message and then close the connection. */
let losesReplies = true;
let searchable: ChatApi;
let chat: ChatApi;
let mail: BrokenServer;
let push: PushService;
/** Its chat token may read the history. */
let searching: TestGateway;
/** Its chat token may not. */
let gateway: TestGateway;
beforeAll(async () => {
  searchable = await startChatApi();
  searchable.grant('im:history', 'im:write');
  chat = await startChatApi();
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
    CHAT_TOKEN: chat.token,
  };
  gateway = await startTestGateway({ ...settings, CHAT_API_URL: chat.url });
  searching = await startTestGateway({ ...settings, CHAT_API_URL: searchable.url });
});
beforeEach(() => {
  losesReplies = true;
  for (const api of [chat, searchable]) api.setAnswer('ok');
});
afterAll(async () => {
  await Promise.all([gateway.close(), searching.close()]);
  await Promise.all([push.close(), mail.close(), chat.close(), searchable.close()]);
});

/** Waits until the only delivery of a notification matches. Until then, attempts are not delayed. */
async function expectDelivery(on: TestGateway, userId: string, id: string, expected: object): Promise<void> {
  await eventually(async () => {
    try {
      await expectShown(on, userId, id, expected);
    } catch (error) {
      await on.database.sql(
        `update delivery set due_at = now() where user_id = $1 and state = 'pending' and due_at > now()`,
        [userId],
      );
      throw error;
    }
  });
}

const expectShown = async (on: TestGateway, userId: string, id: string, expected: object) =>
  expect(await listDeliveries(on, userId, id)).toEqual([expect.objectContaining(expected)]);

type Target = 'email' | 'push' | 'chat';
const settled = { state: 'MAYBE_DELIVERED', reason: 'SETTLED', deliveredAt: null, nextAttemptAt: null };
const lost = { state: 'PENDING', reason: 'REPLY_LOST' };

async function addTarget(on: TestGateway, userId: string, target: Target): Promise<void> {
  if (target === 'push') await registerPush(on, userId, `https://${push.host}/${userId}`);
  else
    await putContact(
      on,
      userId,
      target === 'email' ? { email: `${userId}@example.com` } : { chatMemberId: `U-${userId}` },
    );
}

/** Publishes a notification whose first attempt is accepted without a reply. */
async function loseReply(on: TestGateway, userId: string, target: Target = 'chat'): Promise<string> {
  await addTarget(on, userId, target);
  if (target === 'chat') (on === searching ? searchable : chat).answer('no reply');
  const { id } = await publish(on, userId);
  await eventually(() => expectShown(on, userId, id, lost));
  return id;
}

async function setChannels(on: TestGateway, userId: string, isEnabled: boolean): Promise<void> {
  await asMember(
    on,
    userId,
    `mutation ($isEnabled: Boolean!) { updateNotificationPreferences(input: { preferences: [
      { emailEnabled: $isEnabled, pushEnabled: $isEnabled, chatDmEnabled: $isEnabled }] }) { __typename } }`,
    { isEnabled },
  );
}

const sentTo = (api: ChatApi, userId: string) =>
  api.messages.filter(({ memberId }) => memberId === `U-${userId}`);

describe.each<Target>(['email', 'push', 'chat'])('%s', (target) => {
  test('may have been delivered if it is settled after the reply was lost', async () => {
    const userId = `settled-${target}`;
    const id = await loseReply(gateway, userId, target);
    await dismiss(gateway, userId, [id]);

    await expectDelivery(gateway, userId, id, settled);
  });

  test('may have been delivered if the channel is disabled after the reply was lost', async () => {
    const userId = `disabled-${target}`;
    const id = await loseReply(gateway, userId, target);
    await setChannels(gateway, userId, false);

    await expectDelivery(gateway, userId, id, { ...settled, reason: 'CHANNEL_DISABLED' });
  });

  test('may have been delivered if it expires after the reply was lost, and can be retried', async () => {
    const userId = `expired-${target}`;
    const id = await loseReply(gateway, userId, target);
    await gateway.database.sql(`update delivery set expires_at = now() where user_id = $1`, [userId]);

    await expectDelivery(gateway, userId, id, { ...settled, reason: 'EXPIRED' });
    losesReplies = false;
    const retry =
      'mutation ($userId: ID!) { retryDeliveries(input: { filter: { userIds: [$userId] } }) { count } }';
    expect((await asPlatform(gateway, retry, { userId })).retryDeliveries.count).toBe(1);
    await expectDelivery(gateway, userId, id, { state: 'DELIVERED' });
  });

  test('may have been delivered if it is settled after its lease expired', async () => {
    const userId = `lease-${target}`;
    const id = await loseReply(gateway, userId, target);
    const update = (columns: string) =>
      gateway.database.sql(`update delivery set ${columns} where user_id = $1`, [userId]);
    // As if the only attempt were that of a sender that stopped.
    await update(
      `state = 'sending', reason = null, may_be_delivered = false, due_at = now() + interval '1 h'`,
    );
    await dismiss(gateway, userId, [id]);
    await update('due_at = now()');

    await expectDelivery(gateway, userId, id, settled);
  });
});

test('a later failure of which the result is known does not hide that a message may be delivered', async () => {
  const id = await loseReply(gateway, 'sticky');
  chat.answer({ status: 503, body: '' });
  await makeDue(gateway.database, 'sticky');
  await eventually(() => expectShown(gateway, 'sticky', id, { reason: 'PROVIDER_UNAVAILABLE' }));
  await dismiss(gateway, 'sticky', [id]);

  await expectDelivery(gateway, 'sticky', id, settled);
});

test('a failed reply that does not say whether the message was accepted is an unknown result', async () => {
  await addTarget(gateway, 'unclear', 'chat');
  chat.answer({ error: 'internal_error' });
  const { id } = await publish(gateway, 'unclear');
  await eventually(() =>
    expectShown(gateway, 'unclear', id, { state: 'PENDING', reason: expect.any(String) }),
  );
  await dismiss(gateway, 'unclear', [id]);

  await expectDelivery(gateway, 'unclear', id, settled);
});

test('a delivery is cancelled if no attempt can have delivered it', async () => {
  await addTarget(gateway, 'known', 'chat');
  chat.answer({ status: 503, body: '' });
  const { id } = await publish(gateway, 'known');
  await eventually(() => expectShown(gateway, 'known', id, { reason: 'PROVIDER_UNAVAILABLE' }));
  await dismiss(gateway, 'known', [id]);

  await expectDelivery(gateway, 'known', id, { state: 'CANCELLED', reason: 'SETTLED' });
});

test('a refusal of a later attempt is a known result', async () => {
  const id = await loseReply(gateway, 'refused');
  chat.answer({ error: 'msg_too_long' });

  await expectDelivery(gateway, 'refused', id, { state: 'FAILED', reason: 'MESSAGE_REJECTED' });
});

test('the statistics count deliveries with an unknown result', async () => {
  await updateStatistics(gateway.database);
  const query = '{ platform { statistics { deliveries { channel state count } } } }';
  const counts = (await asPlatform(gateway, query)).platform.statistics.deliveries;

  expect(counts).toContainEqual({
    channel: 'PUSH',
    state: 'MAYBE_DELIVERED',
    count: expect.any(Number),
  });
});

test('gateways of version 0.2 can read every stored state', async () => {
  const states = await gateway.database.sql('select distinct state from delivery');
  const known = ['pending', 'sending', 'delivered', 'failed', 'cancelled'];

  expect(states.filter(({ state }) => !known.includes(String(state)))).toEqual([]);
});

describe('if the chat token may read the history', () => {
  test('a message whose reply was lost is found and updated when it is settled', async () => {
    const id = await loseReply(searching, 'found');
    await dismiss(searching, 'found', [id]);

    await expectDelivery(searching, 'found', id, { state: 'DELIVERED', deliveredAt: expect.any(String) });
    await eventually(() => expect(sentTo(searchable, 'found')).toMatchObject([{ updates: [/Done/] }]));
  });

  test('a message whose reply was lost is found instead of sent again, and updated later', async () => {
    const id = await loseReply(searching, 'not-repeated');
    await expectDelivery(searching, 'not-repeated', id, { state: 'DELIVERED' });
    expect(sentTo(searchable, 'not-repeated')).toHaveLength(1);
    await dismiss(searching, 'not-repeated', [id]);

    await eventually(() => expect(sentTo(searchable, 'not-repeated')).toMatchObject([{ updates: [/Done/] }]));
  });

  test('a message is found among later ones', async () => {
    const id = await loseReply(searching, 'paged');
    for (let count = 0; count < 5; count += 1) {
      const later = await publish(searching, 'paged');
      await eventually(() => expectShown(searching, 'paged', later.id, { state: 'DELIVERED' }));
    }

    await expectDelivery(searching, 'paged', id, { state: 'DELIVERED' });
    expect(sentTo(searchable, 'paged')).toHaveLength(6);
  });

  test('a message that the chat never received is sent again', async () => {
    await addTarget(searching, 'never-received', 'chat');
    searchable.answer({ status: 200, body: 'not JSON' });
    const { id } = await publish(searching, 'never-received');
    await eventually(() => expectShown(searching, 'never-received', id, lost));

    await expectDelivery(searching, 'never-received', id, { state: 'DELIVERED', attempts: 2 });
    expect(sentTo(searchable, 'never-received')).toHaveLength(1);
  });

  test('a message that is not found may have been delivered', async () => {
    await addTarget(searching, 'not-found', 'chat');
    searchable.answer({ status: 200, body: 'not JSON' });
    const { id } = await publish(searching, 'not-found');
    await eventually(() => expectShown(searching, 'not-found', id, lost));
    await dismiss(searching, 'not-found', [id]);

    await expectDelivery(searching, 'not-found', id, settled);
  });

  test('a found message of a disabled channel is still updated when it is settled', async () => {
    const id = await loseReply(searching, 'found-disabled');
    await setChannels(searching, 'found-disabled', false);
    await expectDelivery(searching, 'found-disabled', id, { state: 'DELIVERED' });
    await dismiss(searching, 'found-disabled', [id]);

    await eventually(() =>
      expect(sentTo(searchable, 'found-disabled')).toMatchObject([{ updates: [/Done/] }]),
    );
  });

  test('a search that fails is repeated', async () => {
    const id = await loseReply(searching, 'search-repeated');
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
