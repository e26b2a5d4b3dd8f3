import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listDeliveries, putContact, registerPush } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { publish } from '../support/records.ts';
import { type Providers, startProviders } from './providers.ts';

/* abuse/push-pauses.test.ts and retries.test.ts test when providers are paused, without a gateway. */

let providers: Providers;
let failing: PushService;
/** The messages to the failing push service, which are not replied to yet. */
const held: ServerResponse[] = [];
beforeAll(async () => {
  providers = await startProviders();
  failing = await startPushService((response) => void held.push(response));
});
afterAll(async () => {
  await failing.close();
  await providers.close();
});

const numbers = [1, 2, 3, 4, 5];
/** Makes what is delayed due, so that no test waits for it. */
const makeAllDue = (gateway: TestGateway) =>
  gateway.database.sql(`update delivery set due_at = now() where state = 'pending'`);

/** Waits until the delivery of a user's notification over a channel matches. */
const expectDelivery = (gateway: TestGateway, userId: string, id: string, expected: object) =>
  eventually(async () =>
    expect(await listDeliveries(gateway, userId, id)).toContainEqual(expect.objectContaining(expected)),
  );

test('a chat API that refuses the token is paused, suspends nobody, and delays no other channel; later, everything is sent', async () => {
  const { chat, settings } = providers;
  const gateway = await startTestGateway(settings);
  const put = (userId: string) =>
    putContact(gateway, userId, { email: `${userId}@example.com`, chatMemberId: `U-${userId}` });
  const chatMessage = { channel: 'CHAT_DM', state: 'PENDING' };
  chat.setAnswer({ error: 'invalid_auth' });
  for (const number of numbers) {
    await put(`refused-${number}`);
    const { id } = await publish(gateway, `refused-${number}`);
    const refusal = { attempts: 1, reason: 'PROVIDER_REFUSED', providerCode: 'invalid_auth' };
    await expectDelivery(gateway, `refused-${number}`, id, { ...chatMessage, ...refusal });
  }
  await put('alice');
  const { id } = await publish(gateway, 'alice');
  await expectDelivery(gateway, 'alice', id, { channel: 'EMAIL', state: 'DELIVERED' });

  expect(chat.calls).toHaveLength(5);
  await expectDelivery(gateway, 'alice', id, { ...chatMessage, attempts: 0, reason: null });
  expect(await gateway.as('alice').contact()).toMatchObject({ chatSuspendedAt: null });
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);

  chat.setAnswer('ok');
  // The pause is in the memory of the gateway that was refused.
  const another = await startTestGateway(settings, gateway.database);
  await eventually(async () => {
    await makeAllDue(gateway);
    const delivered = await gateway.database.sql(
      `select user_id, attempts, reason from delivery where channel = 'chat' and state = 'delivered' order by user_id`,
    );
    const reason = 'provider_refused';
    expect(delivered).toEqual([
      { user_id: 'alice', attempts: 1, reason: null },
      ...numbers.map((number) => ({ user_id: `refused-${number}`, attempts: 2, reason })),
    ]);
  });
  await another.close();
  await gateway.close();
});

test('a chat API that is unavailable gets the messages as soon as it recovers', async () => {
  const { chat, settings } = providers;
  const gateway = await startTestGateway(settings);
  const users = ['bob', 'carol', 'dave'];
  for (const userId of users) await putContact(gateway, userId, { chatMemberId: `U-${userId}` });
  chat.answer({ status: 503, body: '' });
  for (const userId of users) await publish(gateway, userId);

  await eventually(async () => {
    await makeAllDue(gateway);
    const [delivered] = await gateway.database.sql(
      `select count(*)::int, sum(attempts)::int as attempts, count(reason)::int as repeated from delivery
        where state = 'delivered'`,
    );
    expect(delivered).toEqual({ count: 3, attempts: 4, repeated: 1 });
  });
  await gateway.close();
});

describe('a push service', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const { settings, push } = providers;
    gateway = await startTestGateway({ ...settings, PUSH_ALLOWED_HOSTS: `${push.host},${failing.host}` });
    await registerPush(gateway, 'healthy', `https://${push.host}/healthy`);
  });
  afterAll(() => gateway.close());

  /** Replies to the next message to the failing service. */
  const reply = async (status: number) => {
    const response = await eventually(() => held.shift() ?? expect.unreachable('There is no message.'));
    response.writeHead(status).end();
  };
  const expectStates = (...states: [user: string, state: string, claims: number, reason: unknown][]) =>
    eventually(async () => {
      const rows = await gateway.database.sql(
        'select user_id, state, claims, reason from delivery where user_id = any($1) order by user_id',
        [states.map(([user]) => user)],
      );
      expect(rows.map(({ user_id, state, claims, reason }) => [user_id, state, claims, reason])).toEqual(
        states,
      );
    });
  const publishHealthy = async () => {
    const { id } = await publish(gateway, 'healthy');
    await expectDelivery(gateway, 'healthy', id, { channel: 'PUSH', state: 'DELIVERED' });
  };

  /** Five users fail, which pauses the service, and another one waits. */
  async function pauseService(status: number, prefix: string, waiting: string): Promise<void> {
    await registerPush(gateway, waiting, `https://${failing.host}/${waiting}`);
    for (const number of numbers) {
      const user = `${prefix}-${number}`;
      await registerPush(gateway, user, `https://${failing.host}/${user}`);
      await publish(gateway, user);
      await reply(status);
      await expectStates([user, 'pending', 1, expect.anything()]);
    }
    await publish(gateway, waiting);
  }

  test('that is unavailable delays no other, and gets one message at a time until it recovers', async () => {
    await pauseService(503, 'down', 'waiting');
    await gateway.database.sql(`update delivery set due_at = now() where user_id = 'down-1'`);
    await eventually(() => expect(held).toHaveLength(1));
    await publishHealthy();
    // The test message is one of a user whose messages have not failed.
    await expectStates(['down-1', 'pending', 1, 'provider_unavailable'], ['waiting', 'sending', 1, null]);
    expect(held).toHaveLength(1);

    await reply(201);
    await reply(201);
    await expectStates(['down-1', 'delivered', 2, 'provider_unavailable'], ['waiting', 'delivered', 1, null]);
  });

  test('that refuses five users, and half of those it was sent messages of, is paused', async () => {
    await pauseService(403, 'refused', 'later');
    // Sent after the other one was published, by the same sender.
    await publishHealthy();
    await expectStates(['later', 'pending', 0, null]);
    expect(held).toHaveLength(0);
  });
});
