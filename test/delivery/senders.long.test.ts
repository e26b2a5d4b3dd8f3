import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChatApi } from '../support/chat-api.ts';
import {
  listDeliveries,
  listStored,
  makeDue,
  putContact,
  registerPush,
  unreachableProviders,
} from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { type Process, runProcess, startProcess } from '../support/process.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { notification, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';
import { type Providers, startProviders } from './providers.ts';

/* Several senders, workers, and what a sender does while a provider fails. */

let providers: Providers;
let chat: ChatApi;
let chatSettings: Record<string, string>;
/** A gateway that only writes rows. */
let queueing: TestGateway;
let failing: PushService;
/** The messages to the failing push service, which are not replied to yet. */
const held: ServerResponse[] = [];
beforeAll(async () => {
  providers = await startProviders();
  ({ chat } = providers);
  chatSettings = { CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url };
  queueing = await startTestGateway({ ...chatSettings, DELIVERY: 'false' });
  failing = await startPushService((response) => void held.push(response));
});
afterAll(async () => {
  await queueing.close();
  await failing.close();
  await providers.close();
});

const sentTo = (userId: string) => chat.messages.filter(({ memberId }) => memberId === `U-${userId}`);
const stored = (userId: string) => listStored(queueing.database, userId);

/** Publishes notifications of different tasks, and waits for nothing. */
async function publishMany(userId: string, count: number): Promise<void> {
  await putContact(queueing, userId, { chatMemberId: `U-${userId}` });
  const drafts = Array.from({ length: count }, (_none, index) =>
    notification(userId, 'task_failed', { title: `Number ${index}` }),
  );
  while (drafts.length > 0) await queueing.as(platform).publishAll({ notifications: drafts.splice(0, 100) });
}

/** Publishes a notification, and waits until it is being sent. The chat API replies when the function is called. */
async function publishHeld(userId: string): Promise<() => void> {
  const release = chat.hold();
  const call = chat.nextCall();
  await publishMany(userId, 1);
  await call;
  return release;
}

test('a backlog is sent by two gateways, each delivery once', async () => {
  await publishMany('backlog', 300);
  expect(await stored('backlog')).toEqual(Array(300).fill('chat pending'));
  expect(chat.calls).toEqual([]);

  const senders = await Promise.all([1, 2].map(() => startTestGateway(chatSettings, queueing.database)));
  await eventually(async () => expect(await stored('backlog')).toEqual(Array(300).fill('chat delivered')));
  const attempts = await Promise.all(
    senders.map(async (sender) => (await scrape(sender)).sum('gateway_delivery_attempts_total') ?? 0),
  );
  await Promise.all(senders.map((sender) => sender.close()));

  const texts = sentTo('backlog').map(({ text }) => text);
  expect([texts.length, new Set(texts).size]).toEqual([300, 300]);
  expect(Math.min(...attempts)).toBeGreaterThan(0);
});

test('a gateway that shuts down stores the results of running attempts, and claims no more', async () => {
  const sender = await startTestGateway(chatSettings, queueing.database);
  const release = await publishHeld('shutdown');
  const closed = sender.close();
  await publishMany('after-shutdown', 1);
  release();
  await closed;

  expect(await stored('shutdown')).toEqual(['chat delivered']);
  expect(await stored('after-shutdown')).toEqual(['chat pending']);
});

describe('npm run worker', () => {
  const settings = (): Record<string, string> => ({
    ...settingsFor(queueing.database),
    ...chatSettings,
    ADMIN_PORT: '0',
  });

  let worker: Process & { address: string };
  beforeAll(async () => {
    const started = startProcess('src/worker.ts', settings());
    worker = { ...started, address: await started.waitForOutput(/Admin +(http:\/\/\S+)/) };
  });
  afterAll(() => worker.stop('SIGKILL'));

  test('sends for gateways with DELIVERY=false, and marks messages as settled', async () => {
    await putContact(queueing, 'worker', { chatMemberId: 'U-worker' });
    const { id } = await publish(queueing, 'worker');
    await eventually(async () => expect(await stored('worker')).toEqual(['chat delivered']));
    await dismiss(queueing, 'worker', [id]);
    await eventually(() => expect(sentTo('worker').map(({ updates }) => updates.length)).toEqual([1]));

    for (const path of ['/healthz', '/readyz']) expect((await fetch(worker.address + path)).status).toBe(200);
    const metrics = await scrape(worker);
    expect(metrics.sum('gateway_delivery_backlog', { channel: 'chat' })).toBe(0);
    expect(metrics.types.has('process_cpu_seconds_total')).toBe(true);
  });

  test('stores the result of a running attempt before it stops', async () => {
    const release = await publishHeld('worker-stop');
    const ended = worker.stop();
    // The admin server closes last.
    await eventually(async () => expect((await fetch(`${worker.address}/readyz`)).status).toBe(503));
    release();

    expect(await ended).toMatchObject({ status: 0, stderr: '' });
    expect(await stored('worker-stop')).toEqual(['chat delivered']);
  });

  test.each([
    ['without a provider', {}],
    [
      'with DELIVERY=false',
      { ...unreachableProviders, PUBLIC_URL: 'https://gateway.example.com', DELIVERY: 'false' },
    ],
  ])('fails to start %s', async (_how, environment) => {
    expect(await runProcess('src/worker.ts', { ...settingsFor(queueing.database), ...environment })).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'This worker cannot send: set SMTP_URL, VAPID_PRIVATE_KEY or CHAT_TOKEN, and do not set DELIVERY=false.\n',
    });
  });
});

/* abuse/push-pauses.test.ts and retries.test.ts test when providers are paused, without a gateway. */

const numbers = [1, 2, 3, 4, 5];
/** Waits until the delivery of a user's notification over a channel matches. */
const expectDelivery = (gateway: TestGateway, userId: string, id: string, expected: object) =>
  eventually(async () =>
    expect(await listDeliveries(gateway, userId, id)).toContainEqual(expect.objectContaining(expected)),
  );

test('a chat API that refuses the token is paused, suspends nobody, and delays no other channel; later, everything is sent', async () => {
  const { settings } = providers;
  const gateway = await startTestGateway(settings);
  const put = (userId: string) =>
    putContact(gateway, userId, { email: `${userId}@example.com`, chatMemberId: `U-${userId}` });
  const chatMessage = { channel: 'CHAT_DM', state: 'PENDING' };
  const before = chat.calls.length;
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

  expect(chat.calls).toHaveLength(before + 5);
  await expectDelivery(gateway, 'alice', id, { ...chatMessage, attempts: 0, reason: null });
  expect(await gateway.as('alice').contact()).toMatchObject({ chatSuspendedAt: null });
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);

  chat.setAnswer('ok');
  // The pause is in the memory of the gateway that was refused.
  const another = await startTestGateway(settings, gateway.database);
  await eventually(async () => {
    await gateway.database.sql(`update delivery set due_at = now() where state = 'pending'`);
    const waiting = await gateway.database.sql(
      `select from delivery where channel = 'chat' and state <> 'delivered'`,
    );
    expect(waiting).toEqual([]);
  });
  await another.close();
  await gateway.close();
});

test('a push service that is unavailable delays no other, and gets one message at a time until it recovers', async () => {
  const { settings, push } = providers;
  const gateway = await startTestGateway({
    ...settings,
    PUSH_ALLOWED_HOSTS: `${push.host},${failing.host}`,
  });
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
  await registerPush(gateway, 'healthy', `https://${push.host}/healthy`);
  // Five users fail, which pauses the service, and another one waits.
  await registerPush(gateway, 'waiting', `https://${failing.host}/waiting`);
  for (const number of numbers) {
    const user = `down-${number}`;
    await registerPush(gateway, user, `https://${failing.host}/${user}`);
    await publish(gateway, user);
    await reply(503);
    await expectStates([user, 'pending', 1, 'provider_unavailable']);
  }
  await publish(gateway, 'waiting');
  await makeDue(gateway.database, 'down-1');
  await eventually(() => expect(held).toHaveLength(1));
  const { id } = await publish(gateway, 'healthy');
  await expectDelivery(gateway, 'healthy', id, { channel: 'PUSH', state: 'DELIVERED' });
  // The test message is one of a user whose messages have not failed.
  await expectStates(['down-1', 'pending', 1, 'provider_unavailable'], ['waiting', 'sending', 1, null]);
  expect(held).toHaveLength(1);

  await reply(201);
  await reply(201);
  await expectStates(['down-1', 'delivered', 2, 'provider_unavailable'], ['waiting', 'delivered', 1, null]);
  await gateway.close();
});
