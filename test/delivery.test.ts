import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from './support/chat-api.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asMember, asPlatform, publish } from './support/records.ts';

let chat: ChatApi;
let gateway: TestGateway;
beforeAll(async () => {
  chat = await startChatApi();
  gateway = await startTestGateway({
    CHAT_TOKEN: chat.token,
    CHAT_API_URL: chat.url,
    APP_URL: 'https://app.example.com/inbox/{id}',
  });
});
afterEach(() => chat.setAnswer('ok'));
afterAll(async () => {
  await gateway.close();
  await chat.close();
});

async function putChatMember(userId: string): Promise<void> {
  const query = 'mutation ($input: PutContactInput!) { putContact(input: $input) { __typename } }';
  await asPlatform(gateway, query, { input: { userId, chatMemberId: `U-${userId}` } });
}

/** Returns the deliveries of a notification. */
async function deliveries(userId: string, notificationId: string) {
  const query = `query ($id: ID!) { deliveries(notificationId: $id) {
    channel state attempts reason providerCode nextAttemptAt deliveredAt pushSubscriptionId } }`;
  const data = await asMember(gateway, userId, query, { id: notificationId });
  return data.deliveries;
}

test('a published notification is sent to the chat member within a second', async () => {
  await putChatMember('alice');
  const { id } = await publish(gateway, 'alice');
  await eventually(async () =>
    expect(await deliveries('alice', id)).toMatchObject([
      { channel: 'CHAT_DM', state: 'DELIVERED', attempts: 1, reason: null, deliveredAt: expect.any(String) },
    ]),
  );
  expect(chat.messages).toMatchObject([{ memberId: 'U-alice', text: expect.stringContaining('A title') }]);
});

test('a message is marked as settled when its notification is dismissed', async () => {
  await putChatMember('bob');
  const { id } = await publish(gateway, 'bob');
  await eventually(async () => expect(await deliveries('bob', id)).toMatchObject([{ state: 'DELIVERED' }]));
  await asMember(
    gateway,
    'bob',
    'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }',
    { id },
  );
  await eventually(async () =>
    expect(chat.messages.find(({ memberId }) => memberId === 'U-bob')?.updates).toHaveLength(1),
  );
  expect(await deliveries('bob', id)).toMatchObject([{ state: 'DELIVERED' }]);
});
