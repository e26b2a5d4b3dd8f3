import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChatAnswer } from '../support/chat-api.ts';
import {
  type Delivery,
  listDeliveries,
  listStored,
  makeDue,
  putContact,
  registerPush,
} from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { createBrowser } from '../support/push-service.ts';
import { publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';
import { type Providers, startProviders } from './providers.ts';

let providers: Providers;
let gateway: TestGateway;
beforeAll(async () => {
  providers = await startProviders();
  const APP_URL = 'https://app.example.com/inbox/{id}';
  gateway = await startTestGateway({ ...providers.settings, APP_URL });
});
afterAll(async () => {
  await gateway.close();
  await providers.close();
});

const putMember = (userId: string, memberId = `U-${userId}`) =>
  putContact(gateway, userId, { chatMemberId: memberId });
const sentTo = (userId: string) =>
  providers.chat.messages.filter(({ memberId }) => memberId === `U-${userId}`);
const endpointOf = (userId: string) => `https://${providers.push.host}/${userId}`;
const stored = (userId: string, id?: string) => listStored(gateway.database, userId, id);
const repeatNow = (userId: string) => makeDue(gateway.database, userId);
const update = (userId: string, columns: string) =>
  gateway.database.sql(`update delivery set ${columns} where user_id = $1`, [userId]);
const retryDeliveries = (filter: object) => gateway.as(platform).retryDeliveries({ filter });
const readContact = (userId: string) => gateway.as(userId).contact();

/** Waits until the only delivery of a notification matches. */
async function expectDelivery(userId: string, id: string, expected: object): Promise<Delivery> {
  return eventually(async () => {
    const [delivery, ...others] = await listDeliveries(gateway, userId, id);
    expect(others).toEqual([]);
    expect(delivery).toMatchObject(expected);
    return delivery ?? expect.unreachable();
  });
}

/** Publishes to a chat member, to whose message the API replies with an answer. */
async function publishToMember(userId: string, answer: ChatAnswer, expected: object): Promise<string> {
  await putMember(userId);
  providers.chat.answer(answer);
  const { id } = await publish(gateway, userId);
  await expectDelivery(userId, id, expected);
  return id;
}

const delivered = { state: 'DELIVERED' };
const lost = { state: 'PENDING', attempts: 1, reason: 'REPLY_LOST' };
const rejected = { state: 'FAILED', attempts: 1, reason: 'MESSAGE_REJECTED', providerCode: 'msg_too_long' };

/** Starts something that sends a message, and waits for its call. The API replies when `release` is called. */
async function hold<Result>(start: () => Promise<Result>): Promise<{ result: Result; release: () => void }> {
  const release = providers.chat.hold();
  const call = providers.chat.nextCall();
  const result = await start();
  await call;
  return { result, release };
}

test("a notification is delivered over every channel, to all of the user's browsers and nobody else", async () => {
  const { chat, mail, push } = providers;
  const browsers = new Map(['/desktop', '/phone'].map((path) => [path, createBrowser()]));
  for (const [path, browser] of browsers)
    await registerPush(gateway, 'everywhere', `https://${push.host}${path}`, browser);
  await putContact(gateway, 'everywhere', { email: 'everywhere@example.com', chatMemberId: 'U-everywhere' });
  await registerPush(gateway, 'another', endpointOf('another'));
  const { id } = await publish(gateway, 'everywhere', 'plan_requested', { title: 'Add a login page' });

  const all = ['chat delivered', 'email delivered', 'push delivered', 'push delivered'];
  await eventually(async () => expect(await stored('everywhere')).toEqual(all));
  expect(chat.messages).toMatchObject([
    { memberId: 'U-everywhere', text: expect.stringContaining('Add a login page') },
  ]);
  expect(mail.mails.map(({ to, parsed }) => [to, parsed.subject])).toEqual([
    [['everywhere@example.com'], 'Add a login page'],
  ]);
  expect(push.requests.map(({ url }) => url).sort()).toEqual([...browsers.keys()]);
  for (const { url = '', body } of push.requests) {
    expect(JSON.parse(browsers.get(url)?.decrypt(body) ?? '')).toMatchObject({
      notificationId: id,
      kind: 'plan_requested',
      title: 'Add a login page',
      url: `https://app.example.com/inbox/${id}`,
    });
  }
});

test.each([
  ['a settled notification', `update notification set status = 'dismissed'`, 'settled'],
  ['a deleted notification', `delete from notification`, 'settled'],
  ['a removed contact', `delete from contact`, 'target_removed'],
  ['a suspended member', `update contact set chat_suspended_at = now()`, 'target_removed'],
  ['a disabled channel', `update notification_preference set chat_dm_enabled = false`, 'channel_disabled'],
])('the last check cancels a delivery of %s, and does not send it', async (name, change, reason) => {
  const userId = name.replaceAll(' ', '-');
  await gateway.as(userId).updatePreferences({ preferences: [{ chatDmEnabled: true }] });
  // Without a contact, nothing is queued.
  const { id } = await publish(gateway, userId);
  await putMember(userId);
  await gateway.database.sql(`${change} where user_id = $1`, [userId]);
  await gateway.database.sql(
    `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at, updated_at)
       values ($1, $2, 'chat', '', 'chat', 'pending', now(), now() + interval '1 h', now(), now())`,
    [userId, id],
  );

  // The API lists no deliveries of a deleted notification.
  await eventually(async () => expect(await stored(userId, id)).toEqual([`chat cancelled ${reason}`]));
  expect(sentTo(userId)).toEqual([]);
});

test('a notification that is settled while it is sent is marked as settled afterwards', async () => {
  await putMember('settled-late');
  const { result, release } = await hold(() => publish(gateway, 'settled-late'));
  await dismiss(gateway, 'settled-late', [result.id]);
  expect(await stored('settled-late')).toEqual(['chat sending']);
  release();
  await eventually(() =>
    expect(sentTo('settled-late')).toMatchObject([{ updates: [expect.stringContaining('Done')] }]),
  );
  await expectDelivery('settled-late', result.id, { ...delivered, reason: null });
});

describe('marking a message as settled', () => {
  test('succeeds for a contact that was removed after the delivery', async () => {
    const id = await publishToMember('left-since', 'ok', delivered);
    await putContact(gateway, 'left-since', {});
    await dismiss(gateway, 'left-since', [id]);

    await eventually(() => expect(sentTo('left-since')[0]?.updates).toHaveLength(1));
  });

  test('is repeated if it fails, and the message stays delivered', async () => {
    const id = await publishToMember('update-lost', 'ok', delivered);
    providers.chat.answer('no reply');
    await dismiss(gateway, 'update-lost', [id]);
    await expectDelivery('update-lost', id, { ...delivered, reason: 'REPLY_LOST', nextAttemptAt: null });
    expect(sentTo('update-lost')[0]?.updates).toHaveLength(1);
    await repeatNow('update-lost');

    await eventually(() => expect(sentTo('update-lost')[0]?.updates).toHaveLength(2));
    await eventually(async () => expect(await stored('update-lost')).toEqual(['chat delivered reply_lost']));
  });

  test('stops if the provider rejects it, without suspending the target', async () => {
    const id = await publishToMember('update-refused', 'ok', delivered);
    providers.chat.answer({ error: 'channel_not_found' });
    await dismiss(gateway, 'update-refused', [id]);

    const refused = ['chat delivered recipient_rejected'];
    await eventually(async () => expect(await stored('update-refused')).toEqual(refused));
    expect(await readContact('update-refused')).toMatchObject({ chatSuspendedAt: null });
  });
});

test('a message that may be accepted later is retried, and keeps the reason of the retry', async () => {
  const id = await publishToMember('repeated', 'no reply', { ...lost, deliveredAt: null });
  const [pending] = await listDeliveries(gateway, 'repeated', id);
  expect(Date.parse(pending?.nextAttemptAt ?? '')).toBeGreaterThan(Date.now());
  await repeatNow('repeated');

  await expectDelivery('repeated', id, {
    ...delivered,
    attempts: 2,
    reason: 'REPLY_LOST',
    nextAttemptAt: null,
    deliveredAt: expect.any(String),
  });
  expect(sentTo('repeated')).toHaveLength(2);
});

describe('a message that is refused', () => {
  test('fails, without consequences for the target', async () => {
    await publishToMember('refused-message', { error: 'msg_too_long' }, rejected);
    await publishToMember('refused-message', 'ok', delivered);
  });

  test('because of the chat member suspends the member until the contact is put again', async () => {
    const contact = { email: 'no-member@example.com', chatMemberId: 'U-no-member' };
    const expectStored = (chat: string[], id?: string) =>
      eventually(async () => expect(await stored('no-member', id)).toEqual([...chat, 'email delivered']));
    await putContact(gateway, 'no-member', contact);
    providers.chat.answer('cut reply');
    const waiting = await publish(gateway, 'no-member');
    await expectStored(['chat pending reply_lost']);
    await update(
      'no-member',
      `due_at = now() + interval '1 h', reason = case channel when 'chat' then 'rate_limited' end`,
    );
    providers.chat.answer({ error: 'channel_not_found' });
    const { id } = await publish(gateway, 'no-member');

    await expectStored(['chat failed recipient_rejected'], id);
    const suspended = { emailSuspendedAt: null, chatSuspendedAt: expect.any(String) };
    await eventually(async () => expect(await readContact('no-member')).toMatchObject(suspended));
    await eventually(async () => {
      await repeatNow('no-member');
      expect(await stored('no-member', waiting.id)).toEqual([
        'chat cancelled target_removed',
        'email delivered',
      ]);
    });
    const unsent = await publish(gateway, 'no-member');
    expect(await retryDeliveries({ userIds: ['no-member'] })).toBe(0);
    await expectStored([], unsent.id);

    await putContact(gateway, 'no-member', contact);
    expect(await retryDeliveries({ userIds: ['no-member'] })).toBe(1);
    await expectStored(['chat delivered recipient_rejected'], id);
  });

  test('because of the push subscription removes it', async () => {
    const pushSubscriptionId = await registerPush(gateway, 'unsubscribed', endpointOf('unsubscribed'));
    providers.pushReplies.push({ status: 410 });
    const { id } = await publish(gateway, 'unsubscribed');

    const failed = { state: 'FAILED', reason: 'RECIPIENT_REJECTED', providerCode: '410', pushSubscriptionId };
    await expectDelivery('unsubscribed', id, failed);
    await eventually(async () => expect(await gateway.as('unsubscribed').pushSubscriptions()).toEqual([]));
  });

  test('because of the address suspends it', async () => {
    await putContact(gateway, 'no-mailbox', { email: 'refused@example.com' });
    const { id } = await publish(gateway, 'no-mailbox');

    const failed = { state: 'FAILED', reason: 'RECIPIENT_REJECTED', providerCode: '550 5.1.1', attempts: 1 };
    await expectDelivery('no-mailbox', id, failed);
    await eventually(async () =>
      expect(await readContact('no-mailbox')).toMatchObject({ emailSuspendedAt: expect.any(String) }),
    );
  });

  test('does not suspend a member that the platform replaced meanwhile', async () => {
    await putMember('replaced');
    providers.chat.answer({ error: 'user_not_found' });
    const { result, release } = await hold(() => publish(gateway, 'replaced'));
    await putMember('replaced', 'U-new');
    release();
    await expectDelivery('replaced', result.id, { state: 'FAILED' });
    expect(await retryDeliveries({ userIds: ['replaced'] })).toBe(1);

    await expectDelivery('replaced', result.id, delivered);
    expect(await readContact('replaced')).toMatchObject({ chatSuspendedAt: null });
  });
});

describe('retryDeliveries', () => {
  const fail = (userId: string) => publishToMember(userId, { error: 'msg_too_long' }, rejected);

  test('sends failed deliveries of a user, optionally in one channel, once', async () => {
    const one = await fail('retry-one');
    const two = await fail('retry-two');
    expect(await retryDeliveries({ userIds: ['retry-one'], channels: ['EMAIL'] })).toBe(0);
    expect(await retryDeliveries({ userIds: ['retry-one'], channels: [] })).toBe(0);
    expect(await retryDeliveries({ userIds: [] })).toBe(0);
    expect(await retryDeliveries({ userIds: ['retry-one'], channels: ['CHAT_DM'] })).toBe(1);

    await expectDelivery('retry-one', one, { ...delivered, attempts: 2, reason: 'MESSAGE_REJECTED' });
    await expectDelivery('retry-two', two, rejected);
    expect(await retryDeliveries({ userIds: ['retry-one'] })).toBe(0);
  });

  test('does not send what is settled', async () => {
    const id = await fail('retry-settled');
    await dismiss(gateway, 'retry-settled', [id]);

    expect(await retryDeliveries({ userIds: ['retry-settled'] })).toBe(0);
    await expectDelivery('retry-settled', id, rejected);
  });
});

describe('a lease that expired', () => {
  const expectLate = (userId: string) =>
    eventually(() => {
      const late = gateway.logLines().filter((line) => line.includes('the lease was lost'));
      expect(late.filter((line) => line.includes(userId))).toHaveLength(1);
    });

  test.each<[order: 'first' | 'second', firstAnswer: ChatAnswer]>([
    ['first', { error: 'channel_not_found' }],
    ['second', 'ok'],
  ])('lets only the second sender store its result if the %s ends first', async (order, firstAnswer) => {
    const userId = `lease-${order}`;
    await putMember(userId);
    providers.chat.answer(firstAnswer);
    const first = await hold(() => publish(gateway, userId));
    const second = await hold(() => makeDue(gateway.database, userId));
    const { id } = first.result;
    if (order === 'first') {
      first.release();
      await expectLate(userId);
      await expectDelivery(userId, id, { state: 'SENDING', attempts: 2, reason: 'LEASE_EXPIRED' });
      second.release();
    } else {
      second.release();
      await expectDelivery(userId, id, delivered);
      first.release();
      await expectLate(userId);
    }
    await expectDelivery(userId, id, { ...delivered, attempts: 2, reason: 'LEASE_EXPIRED' });
    // The late result neither suspends the target nor replaces the receipt.
    expect(await readContact(userId)).toMatchObject({ chatSuspendedAt: null });
    const { sql } = gateway.database;
    const rows = await sql('select receipt, claims from delivery where user_id = $1', [userId]);
    expect(rows).toEqual([{ receipt: `DU-${userId} ${sentTo(userId)[0]?.ts}`, claims: 2 }]);
  });
});

describe('an attempt', () => {
  const browser = createBrowser();
  const secrets = {
    address: 'private-address@example.com',
    refusedAddress: 'refused-address@example.com',
    chatMemberId: 'U0PRIVATEMEMBER',
    endpoint: 'private-endpoint',
    password: 'smtp-password',
    title: 'A private title',
    summary: 'A private plan',
    ...browser.keys,
  };
  let gateway: TestGateway;
  beforeAll(async () => {
    const url = new URL(providers.settings.SMTP_URL);
    gateway = await startTestGateway({
      ...providers.settings,
      SMTP_URL: `smtp://gateway:${secrets.password}@${url.host}`,
      LOG_LEVEL: 'trace',
    });
  });
  afterAll(() => gateway.close());

  /** Waits until the deliveries of a user are in these states. */
  const expectStored = (userId: string, ...states: string[]) =>
    eventually(async () => expect(await listStored(gateway.database, userId)).toEqual(states));
  const readAttempts = (userId: string) =>
    gateway
      .logLines()
      .filter((line) => line.includes('delivery attempt'))
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ user }) => user === userId);
  const publishPrivate = (userId: string) =>
    publish(gateway, userId, 'plan_requested', {
      title: secrets.title,
      previewText: secrets.summary,
      payload: { planRequested: { toolId: 't', input: { summary: secrets.summary, plan: secrets.summary } } },
    });

  test('is logged and counted once, with its outcome', async () => {
    const { chat, push, pushReplies } = providers;
    await putContact(gateway, 'log', { email: secrets.address, chatMemberId: secrets.chatMemberId });
    await registerPush(gateway, 'log', `https://${push.host}/${secrets.endpoint}`, browser);
    chat.answer('no reply');
    pushReplies.push({ status: 410 });
    const { id } = await publishPrivate('log');
    const others = ['email delivered', 'push failed recipient_rejected'];
    await expectStored('log', 'chat pending reply_lost', ...others);
    await makeDue(gateway.database, 'log');
    await expectStored('log', 'chat delivered reply_lost', ...others);
    await dismiss(gateway, 'log', [id]);
    await eventually(() => expect(readAttempts('log')).toHaveLength(5));
    await putContact(gateway, 'log', { email: secrets.refusedAddress });
    await publishPrivate('log');
    await eventually(() => expect(readAttempts('log')).toHaveLength(6));

    const attempts = readAttempts('log').map(({ channel, step, attempts, outcome, reason, providerCode }) =>
      [channel, step, attempts, outcome, reason, providerCode].join(' '),
    );
    expect(attempts.sort()).toEqual([
      'chat message 1 retry reply_lost ',
      'chat message 2 delivered  ',
      'chat update 3 delivered  ',
      'email message 1 delivered  ',
      'email message 1 failed recipient_rejected 550 5.1.1',
      'push message 1 failed recipient_rejected 410',
    ]);
    expect(readAttempts('log')[0]).toMatchObject({ user: 'log', notification: id });

    const metrics = await scrape(gateway);
    const count = (channel: string, ...outcomes: string[]) =>
      outcomes.map((outcome) => metrics.sum('gateway_delivery_attempts_total', { channel, outcome }));
    expect(count('chat', 'delivered', 'reply_lost')).toEqual([2, 1]);
    expect(count('email', 'delivered', 'recipient_rejected')).toEqual([1, 1]);
    const timed = (channel: string) => metrics.sum('gateway_delivery_delay_seconds_count', { channel });
    expect(['chat', 'email', 'push'].map(timed)).toEqual([1, 1, undefined]);
    const labels = metrics.samples.flatMap(({ labels }) => Object.values(labels)).join();
    expect(labels).not.toMatch(new RegExp(`private|${push.host}`));
  });

  test('of a push subscription that cannot be decrypted is repeated, and logged', async () => {
    const endpoint = `https://${providers.push.host}/${secrets.endpoint}-2`;
    const id = await registerPush(gateway, 'unreadable', endpoint, browser);
    await gateway.database.sql(`update push_subscription set ciphertext = 'k9.x' where id = $1`, [id]);
    await publishPrivate('unreadable');

    await expectStored('unreadable', 'push pending target_unreadable');
    await eventually(() =>
      expect(readAttempts('unreadable')).toMatchObject([{ outcome: 'retry', reason: 'target_unreadable' }]),
    );
  });

  test('leaves no address, key, token or text in any log line', () => {
    const log = gateway.logLines().join('\n');
    expect(log).toContain('delivery attempt');
    const { CHAT_TOKEN, VAPID_PRIVATE_KEY } = providers.settings;
    for (const secret of [...Object.values(secrets), CHAT_TOKEN, VAPID_PRIVATE_KEY])
      expect(log).not.toContain(secret);
  });
});
