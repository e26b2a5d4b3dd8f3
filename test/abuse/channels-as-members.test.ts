import { afterAll, beforeAll, expect, test } from 'vitest';
import { MEMBER_ID_MESSAGE } from '../../src/values/constraints.ts';
import { refused } from '../support/as.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { listDeliveries, putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/* `chat.postMessage` posts to channels as well, so a channel as a member ID would show a user's messages to others. */

let chat: ChatApi;
let gateway: TestGateway;
beforeAll(async () => {
  chat = await startChatApi();
  gateway = await startTestGateway({ CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url });
});
afterAll(async () => {
  await gateway.close();
  await chat.close();
});

const channels = [
  '#general',
  '@alice',
  '<!channel>',
  '!here',
  '<#C012AB3CD>',
  'C012AB3CD',
  'G012AB3CD4E',
  'D012AB3CD',
];

test.each(channels)('putContact rejects %s as a member ID', async (chatMemberId) => {
  const putting = gateway.as(platform).putContact({ userId: 'alice', chatMemberId });
  const rule: [string, string] = ['input.chatMemberId', MEMBER_ID_MESSAGE];
  await expect(putting).rejects.toMatchObject(refused('VALIDATION_FAILED', rule));
});

test.each(channels)('nothing is posted to %s if an earlier version has stored it', async (stored) => {
  const userId = `stored-${stored}`;
  await putContact(gateway, userId, { chatMemberId: 'U012AB3CD' });
  await gateway.database.sql('update contact set chat_member_id = $2 where user_id = $1', [userId, stored]);
  const { id } = await publish(gateway, userId);

  await eventually(async () =>
    expect(await listDeliveries(gateway, userId, id)).toMatchObject([
      { state: 'FAILED', reason: 'RECIPIENT_REJECTED', providerCode: 'ERR_NOT_A_MEMBER_ID' },
    ]),
  );
  expect(chat.calls).toEqual([]);
});
