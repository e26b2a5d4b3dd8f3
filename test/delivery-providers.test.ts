import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from './support/chat-api.ts';
import {
  listDeliveries,
  makeDue,
  putContact,
  registerPush,
  unreachableProviders,
} from './support/delivery.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { type MailServer, startMailServer } from './support/mail-server.ts';
import { type PushService, startPushService } from './support/push-service.ts';
import { asMember, publish } from './support/records.ts';

let chat: ChatApi;
let mail: MailServer;
beforeAll(async () => {
  chat = await startChatApi();
  mail = await startMailServer();
});
afterAll(async () => {
  await mail.close();
  await chat.close();
});

const findDelivery = async (gateway: TestGateway, userId: string, id: string, channel: string) =>
  (await listDeliveries(gateway, userId, id)).find((delivery) => delivery.channel === channel);

describe('a chat API that refuses the token', () => {
  let gateway: TestGateway;
  let settings: Record<string, string>;
  beforeAll(async () => {
    settings = {
      SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
      SMTP_FROM: unreachableProviders.SMTP_FROM,
      DELIVERY_EMAIL_DELAY_SECONDS: '0',
      CHAT_TOKEN: chat.token,
      CHAT_API_URL: chat.url,
    };
    gateway = await startTestGateway(settings);
  });
  afterAll(() => gateway.close());

  test('pauses the channel, suspends nobody, and delays no other channel; later, everything is sent', async () => {
    await putContact(gateway, 'alice', { email: 'alice@example.com', chatMemberId: 'U-alice' });
    chat.setAnswer({ error: 'invalid_auth' });
    const refused = await publish(gateway, 'alice');
    await eventually(async () =>
      expect(await findDelivery(gateway, 'alice', refused.id, 'CHAT_DM')).toMatchObject({
        state: 'PENDING',
        attempts: 1,
        reason: 'PROVIDER_REFUSED',
        providerCode: 'invalid_auth',
      }),
    );
    const [row] = await gateway.database.sql(
      `select extract(epoch from due_at - updated_at)::float8 as pause from delivery where channel = 'chat'`,
    );
    expect(row?.pause).toBeGreaterThan(29);
    const waiting = await publish(gateway, 'alice');
    await eventually(async () => {
      for (const { id } of [refused, waiting]) {
        expect(await findDelivery(gateway, 'alice', id, 'EMAIL')).toMatchObject({ state: 'DELIVERED' });
      }
    });

    expect(chat.calls).toHaveLength(1);
    expect(await findDelivery(gateway, 'alice', waiting.id, 'CHAT_DM')).toMatchObject({
      state: 'PENDING',
      attempts: 0,
      reason: null,
    });
    const { contact } = await asMember(gateway, 'alice', '{ contact { chatSuspendedAt } }');
    expect(contact.chatSuspendedAt).toBeNull();
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);

    chat.setAnswer('ok');
    await makeDue(gateway.database, 'alice');
    // The pause is in the memory of the gateway that was refused.
    const another = await startTestGateway(settings, gateway.database);
    await eventually(async () => {
      expect(await findDelivery(gateway, 'alice', refused.id, 'CHAT_DM')).toMatchObject({
        state: 'DELIVERED',
        attempts: 2,
        reason: 'PROVIDER_REFUSED',
      });
      expect(await findDelivery(gateway, 'alice', waiting.id, 'CHAT_DM')).toMatchObject({
        state: 'DELIVERED',
        attempts: 1,
        reason: null,
      });
    });
    await another.close();
  });
});

test('a chat API that is unavailable gets the messages as soon as it recovers', async () => {
  const gateway = await startTestGateway({ CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url });
  const users = ['bob', 'carol', 'dave'];
  for (const userId of users) await putContact(gateway, userId, { chatMemberId: `U-${userId}` });
  chat.answer({ status: 503, body: '' });
  const sent = await Promise.all(
    users.map(async (userId) => ({ userId, ...(await publish(gateway, userId)) })),
  );

  await eventually(async () => {
    for (const { userId, id } of sent) {
      expect(await listDeliveries(gateway, userId, id)).toMatchObject([{ state: 'DELIVERED' }]);
    }
  });
  const attempts = await gateway.database.sql(
    'select sum(attempts)::int as attempts, count(reason)::int as repeated from delivery',
  );
  expect(attempts).toEqual([{ attempts: 4, repeated: 1 }]);
  await gateway.close();
});

describe('a push service', () => {
  let healthy: PushService;
  let failing: PushService;
  let gateway: TestGateway;
  /** The messages to the failing service, which are not replied to yet. */
  const held: ServerResponse[] = [];
  beforeAll(async () => {
    healthy = await startPushService();
    failing = await startPushService((response) => void held.push(response));
    gateway = await startTestGateway({
      VAPID_PRIVATE_KEY: unreachableProviders.VAPID_PRIVATE_KEY,
      VAPID_SUBJECT: unreachableProviders.VAPID_SUBJECT,
      PUSH_ALLOWED_HOSTS: `${healthy.host},${failing.host}`,
    });
  });
  afterAll(async () => {
    await gateway.close();
    await failing.close();
    await healthy.close();
  });

  /** Replies to the next message to the failing service. */
  const reply = async (status: number) => {
    const response = await eventually(() => {
      const next = held.shift();
      if (next === undefined) throw new Error('There is no message.');
      return next;
    });
    response.writeHead(status).end();
  };

  test('that is unavailable delays no other, and gets one message at a time until it recovers', async () => {
    const first = await registerPush(gateway, 'erin', `https://${failing.host}/erin`);
    const second = await registerPush(gateway, 'erin', `https://${healthy.host}/erin`);
    const { id } = await publish(gateway, 'erin');
    await reply(503);
    await eventually(async () => {
      const deliveries = await listDeliveries(gateway, 'erin', id);
      expect(deliveries).toContainEqual(
        expect.objectContaining({ pushSubscriptionId: first, reason: 'PROVIDER_UNAVAILABLE', attempts: 1 }),
      );
      expect(deliveries).toContainEqual(
        expect.objectContaining({ pushSubscriptionId: second, state: 'DELIVERED', attempts: 1 }),
      );
    });

    // After the pause, the same message is sent again. Until the reply, others wait.
    await eventually(() => expect(held).toHaveLength(1));
    await registerPush(gateway, 'frank', `https://${failing.host}/frank`);
    const other = await publish(gateway, 'frank');
    const [row] = await eventually(async () => {
      const rows = await gateway.database.sql(
        `select extract(epoch from due_at - updated_at)::float8 as delay, attempts from delivery
          where user_id = 'frank' and state = 'pending' and claims > 0`,
      );
      expect(rows).toHaveLength(1);
      return rows;
    });
    expect(row?.attempts).toBe(0);
    expect(row?.delay).toBeGreaterThanOrEqual(0.5);
    // One that waits again keeps the reason of an earlier attempt.
    await gateway.database.sql(
      `update delivery set due_at = now(), reason = 'reply_lost', provider_code = 'lost' where user_id = 'frank'`,
    );
    await eventually(async () => {
      const again = await gateway.database.sql(
        `select attempts, reason, provider_code from delivery
          where user_id = 'frank' and state = 'pending' and claims > 1`,
      );
      expect(again).toEqual([{ attempts: 0, reason: 'reply_lost', provider_code: 'lost' }]);
    });
    expect(held).toHaveLength(1);
    await reply(201);
    await eventually(async () =>
      expect((await listDeliveries(gateway, 'erin', id)).map(({ state }) => state)).toEqual([
        'DELIVERED',
        'DELIVERED',
      ]),
    );

    await makeDue(gateway.database, 'frank');
    await reply(201);
    await eventually(async () =>
      expect(await listDeliveries(gateway, 'frank', other.id)).toMatchObject([
        { state: 'DELIVERED', attempts: 1, reason: 'REPLY_LOST' },
      ]),
    );
  });
});
