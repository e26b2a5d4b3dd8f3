import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { listDeliveries, putContact, registerPush, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { asMember, publish } from '../support/records.ts';

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
    for (const user of ['refused-1', 'refused-2', 'refused-3', 'refused-4', 'refused-5']) {
      await putContact(gateway, user, { email: `${user}@example.com`, chatMemberId: `U-${user}` });
      const { id } = await publish(gateway, user);
      await eventually(async () =>
        expect(await findDelivery(gateway, user, id, 'CHAT_DM')).toMatchObject({
          state: 'PENDING',
          attempts: 1,
          reason: 'PROVIDER_REFUSED',
          providerCode: 'invalid_auth',
        }),
      );
    }
    const waiting = await publish(gateway, 'alice');
    await eventually(async () =>
      expect(await findDelivery(gateway, 'alice', waiting.id, 'EMAIL')).toMatchObject({ state: 'DELIVERED' }),
    );

    expect(chat.calls).toHaveLength(5);
    expect(await findDelivery(gateway, 'alice', waiting.id, 'CHAT_DM')).toMatchObject({
      state: 'PENDING',
      attempts: 0,
      reason: null,
    });
    const { contact } = await asMember(gateway, 'alice', '{ contact { chatSuspendedAt } }');
    expect(contact.chatSuspendedAt).toBeNull();
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);

    chat.setAnswer('ok');
    // The pause is in the memory of the gateway that was refused.
    const another = await startTestGateway(settings, gateway.database);
    await eventually(async () => {
      await gateway.database.sql(`update delivery set due_at = now() where state = 'pending'`);
      const delivered = await gateway.database.sql(
        `select user_id, attempts, reason from delivery where channel = 'chat' and state = 'delivered' order by user_id`,
      );
      expect(delivered).toEqual([
        { user_id: 'alice', attempts: 1, reason: null },
        ...[1, 2, 3, 4, 5].map((number) => ({
          user_id: `refused-${number}`,
          attempts: 2,
          reason: 'provider_refused',
        })),
      ]);
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
    await gateway.database.sql(`update delivery set due_at = now() where state = 'pending'`);
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

  const makeDue = (user: string) =>
    gateway.database.sql('update delivery set due_at = now() where user_id = $1', [user]);
  const readStates = async (...users: string[]) => {
    const rows = await gateway.database.sql(
      'select user_id, state, claims, reason from delivery where user_id = any($1) order by user_id',
      [users],
    );
    return rows.map(({ user_id, state, claims, reason }) => [user_id, state, claims, reason]);
  };

  /** Five users fail, which pauses the service. */
  const pauseService = async (status: number, prefix: string) => {
    const users = [1, 2, 3, 4, 5].map((number) => `${prefix}-${number}`);
    for (const user of users) {
      await registerPush(gateway, user, `https://${failing.host}/${user}`);
      await publish(gateway, user);
      await reply(status);
      await eventually(async () =>
        expect(await readStates(user)).toEqual([[user, 'pending', 1, expect.anything()]]),
      );
    }
  };

  test('that is unavailable delays no other, and gets one message at a time until it recovers', async () => {
    await registerPush(gateway, 'healthy', `https://${healthy.host}/healthy`);
    await registerPush(gateway, 'waiting', `https://${failing.host}/waiting`);
    await pauseService(503, 'down');
    await publish(gateway, 'waiting');
    await makeDue('down-1');
    await eventually(() => expect(held).toHaveLength(1));
    const { id } = await publish(gateway, 'healthy');
    await eventually(async () =>
      expect(await listDeliveries(gateway, 'healthy', id)).toMatchObject([{ state: 'DELIVERED' }]),
    );
    // The test message is one of a user whose messages have not failed.
    expect(await readStates('down-1', 'waiting')).toEqual([
      ['down-1', 'pending', 1, 'provider_unavailable'],
      ['waiting', 'sending', 1, null],
    ]);
    expect(held).toHaveLength(1);

    await reply(201);
    await reply(201);
    await eventually(async () =>
      expect((await readStates('down-1', 'waiting')).map(([, state]) => state)).toEqual([
        'delivered',
        'delivered',
      ]),
    );
  });

  test('that refuses five users, and half of those it was sent messages of, is paused', async () => {
    await registerPush(gateway, 'later', `https://${failing.host}/later`);
    await pauseService(403, 'refused');
    await publish(gateway, 'later');
    const { id } = await publish(gateway, 'healthy');
    // Sent after the other one was published, by the same sender.
    await eventually(async () =>
      expect(await listDeliveries(gateway, 'healthy', id)).toMatchObject([{ state: 'DELIVERED' }]),
    );
    expect(await readStates('later')).toEqual([['later', 'pending', 0, null]]);
    expect(held).toHaveLength(0);
  });
});
