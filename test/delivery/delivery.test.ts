import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { listDeliveries, putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { publish } from '../support/records.ts';

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

test('a published notification is sent to the chat member within a second', async () => {
  await putContact(gateway, 'alice', { chatMemberId: 'U-alice' });
  const { id } = await publish(gateway, 'alice');
  await eventually(async () =>
    expect(await listDeliveries(gateway, 'alice', id)).toMatchObject([
      { channel: 'CHAT_DM', state: 'DELIVERED', attempts: 1, reason: null, deliveredAt: expect.any(String) },
    ]),
  );
  expect(chat.messages).toMatchObject([{ memberId: 'U-alice', text: expect.stringContaining('A title') }]);
});

test('a message is marked as settled when its notification is dismissed', async () => {
  await putContact(gateway, 'bob', { chatMemberId: 'U-bob' });
  const { id } = await publish(gateway, 'bob');
  await eventually(async () =>
    expect(await listDeliveries(gateway, 'bob', id)).toMatchObject([{ state: 'DELIVERED' }]),
  );
  await dismiss(gateway, 'bob', [id]);
  await eventually(async () =>
    expect(chat.messages.find(({ memberId }) => memberId === 'U-bob')?.updates).toHaveLength(1),
  );
  expect(await listDeliveries(gateway, 'bob', id)).toMatchObject([{ state: 'DELIVERED' }]);
});
