import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { listStored, putContact, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { type Process, runProcess, startProcess } from '../support/process.ts';
import { notification, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

let chat: ChatApi;
let chatSettings: Record<string, string>;
/** A gateway that only writes rows. */
let gateway: TestGateway;
beforeAll(async () => {
  chat = await startChatApi();
  chatSettings = { CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url };
  gateway = await startTestGateway({ ...chatSettings, DELIVERY: 'false' });
});
afterAll(async () => {
  await gateway.close();
  await chat.close();
});

const sentTo = (userId: string) => chat.messages.filter(({ memberId }) => memberId === `U-${userId}`);
const stored = (userId: string) => listStored(gateway.database, userId);

/** Publishes notifications of different tasks, and waits for nothing. */
async function publishMany(userId: string, count: number): Promise<void> {
  await putContact(gateway, userId, { chatMemberId: `U-${userId}` });
  const drafts = Array.from({ length: count }, (_none, index) =>
    notification(userId, 'task_failed', { title: `Number ${index}` }),
  );
  while (drafts.length > 0) await gateway.as(platform).publishAll({ notifications: drafts.splice(0, 100) });
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

  const senders = await Promise.all([1, 2].map(() => startTestGateway(chatSettings, gateway.database)));
  await eventually(async () => expect(await stored('backlog')).toEqual(Array(300).fill('chat delivered')));
  const attempts = await Promise.all(
    senders.map(async (sender) => (await scrape(sender)).sum('gateway_delivery_attempts_total') ?? 0),
  );
  await Promise.all(senders.map((sender) => sender.close()));

  const texts = sentTo('backlog').map(({ text }) => text);
  expect(texts).toHaveLength(300);
  expect(new Set(texts).size).toBe(300);
  expect(Math.min(...attempts)).toBeGreaterThan(0);
  expect(attempts.reduce((sum, count) => sum + count)).toBe(300);
});

test('a gateway that shuts down stores the results of running attempts, and claims no more', async () => {
  const sender = await startTestGateway(chatSettings, gateway.database);
  const release = await publishHeld('shutdown');
  const closed = sender.close();
  await publishMany('after-shutdown', 1);
  release();
  await closed;

  expect(await stored('shutdown')).toEqual(['chat delivered']);
  expect(await stored('after-shutdown')).toEqual(['chat pending']);
  expect(sentTo('after-shutdown')).toEqual([]);
});

describe('npm run worker', () => {
  const settings = (): Record<string, string> => ({
    ...settingsFor(gateway.database),
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
    await putContact(gateway, 'worker', { chatMemberId: 'U-worker' });
    const { id } = await publish(gateway, 'worker');
    await eventually(async () => expect(await stored('worker')).toEqual(['chat delivered']));
    await dismiss(gateway, 'worker', [id]);
    await eventually(() => expect(sentTo('worker').map(({ updates }) => updates.length)).toEqual([1]));

    for (const path of ['/healthz', '/readyz']) expect((await fetch(worker.address + path)).status).toBe(200);
    const metrics = await scrape(worker);
    const delivered = { channel: 'chat', outcome: 'delivered' };
    expect(metrics.sum('gateway_delivery_attempts_total', delivered)).toBeGreaterThan(1);
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
    expect(await runProcess('src/worker.ts', { ...settingsFor(gateway.database), ...environment })).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'This worker cannot send: set SMTP_URL, VAPID_PRIVATE_KEY or CHAT_TOKEN, and do not set DELIVERY=false.\n',
    });
  });

  test('fails to start if the admin port is in use', async () => {
    const port = new URL(gateway.address).port;
    const { status, stderr } = await runProcess('src/worker.ts', { ...settings(), ADMIN_PORT: port });

    expect(status).toBe(1);
    expect(stderr).toContain(port);
  });
});
