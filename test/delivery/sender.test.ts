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

describe('the last check', () => {
  test.each([
    ['a settled notification', `update notification set status = 'dismissed'`, 'settled'],
    ['a deleted notification', `delete from notification`, 'settled'],
    ['a removed contact', `delete from contact`, 'target_removed'],
    ['a suspended member', `update contact set chat_suspended_at = now()`, 'target_removed'],
    ['a disabled channel', `update notification_preference set chat_dm_enabled = false`, 'channel_disabled'],
  ])('cancels a delivery of %s, and does not send it', async (name, change, reason) => {
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

  test('sends to an address that was updated meanwhile', async () => {
    await putMember('moved', 'U-old');
    providers.chat.answer('no reply');
    const { id } = await publish(gateway, 'moved');
    await expectDelivery('moved', id, lost);
    await putMember('moved');
    await repeatNow('moved');

    await expectDelivery('moved', id, { ...delivered, attempts: 2 });
    expect(sentTo('moved')).toHaveLength(1);
  });
});

describe('a notification that is settled while it is sent', () => {
  async function settleDuringAttempt(userId: string): Promise<string> {
    await putMember(userId);
    const { result, release } = await hold(() => publish(gateway, userId));
    await dismiss(gateway, userId, [result.id]);
    expect(await stored(userId)).toEqual(['chat sending']);
    release();
    return result.id;
  }

  test('is marked as settled afterwards', async () => {
    const id = await settleDuringAttempt('settled-late');
    await eventually(() =>
      expect(sentTo('settled-late')).toMatchObject([{ updates: [expect.stringContaining('Done')] }]),
    );
    await expectDelivery('settled-late', id, { ...delivered, reason: null });
  });

  test('is not sent again if the attempt fails', async () => {
    providers.chat.answer('no reply');
    const id = await settleDuringAttempt('settled-failed');
    await expectDelivery('settled-failed', id, lost);
    await repeatNow('settled-failed');

    await expectDelivery('settled-failed', id, { state: 'MAYBE_DELIVERED', reason: 'SETTLED', attempts: 1 });
    expect(sentTo('settled-failed')).toHaveLength(1);
  });
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

describe('a message that may be accepted later', () => {
  test('is retried and keeps the reason of the retry', async () => {
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

  test('is not sent before Retry-After', async () => {
    await registerPush(gateway, 'later', endpointOf('later'));
    providers.pushReplies.push({ status: 429, headers: { 'Retry-After': '3000' } });
    const { id } = await publish(gateway, 'later');

    const limited = { state: 'PENDING', reason: 'RATE_LIMITED', providerCode: '429' };
    const { nextAttemptAt, updatedAt } = await expectDelivery('later', id, limited);
    expect(Date.parse(nextAttemptAt ?? '') - Date.parse(updatedAt)).toBeGreaterThanOrEqual(3_000_000);
  });

  test('expires', async () => {
    const id = await publishToMember('expired', 'no reply', lost);
    await update('expired', 'due_at = now(), expires_at = now()');

    const expired = { state: 'MAYBE_DELIVERED', reason: 'EXPIRED', attempts: 1, nextAttemptAt: null };
    await expectDelivery('expired', id, expired);
    expect(sentTo('expired')).toHaveLength(1);
  });
});

describe('a message that is refused', () => {
  test('fails, without consequences for the target', async () => {
    await publishToMember('refused-message', { error: 'msg_too_long' }, rejected);
    expect(await readContact('refused-message')).toMatchObject({ chatSuspendedAt: null });
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
    await expectStored(['chat cancelled target_removed'], waiting.id);
    const suspended = { emailSuspendedAt: null, chatSuspendedAt: expect.any(String) };
    expect(await readContact('no-member')).toMatchObject(suspended);
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

  test('because of the address suspends it, and is not sent again if the suspension fails', async () => {
    await gateway.database.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'read-only'; end $$`,
    );
    await gateway.database.sql(
      `create trigger refuse before update on contact for each row
        when (new.user_id = 'no-mailbox' and new.email_suspended_at is not null) execute function refuse()`,
    );
    await putContact(gateway, 'no-mailbox', { email: 'refused@example.com' });
    const { id } = await publish(gateway, 'no-mailbox');

    const warning = 'suspending a refused target failed; its next refusal suspends it';
    await eventually(() => expect(gateway.logLines().join()).toContain(warning));
    const failed = { state: 'FAILED', reason: 'RECIPIENT_REJECTED', providerCode: '550 5.1.1', attempts: 1 };
    await expectDelivery('no-mailbox', id, failed);
    expect(gateway.logLines().join()).not.toContain('completing a delivery failed');
    await gateway.database.sql('drop trigger refuse on contact');
    await publish(gateway, 'no-mailbox');
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

  test('allows attempts of an expired delivery for another 24 hours', async () => {
    const id = await fail('retry-expired');
    await update('retry-expired', `expires_at = now() - interval '1 h', reason = 'expired'`);
    expect(await retryDeliveries({ userIds: ['retry-expired'] })).toBe(1);

    await expectDelivery('retry-expired', id, { ...delivered, reason: 'EXPIRED' });
  });

  test('does not send what is settled', async () => {
    const id = await fail('retry-settled');
    await dismiss(gateway, 'retry-settled', [id]);

    expect(await retryDeliveries({ userIds: ['retry-settled'] })).toBe(0);
    await expectDelivery('retry-settled', id, rejected);
  });

  test('makes deliveries cancellable again', async () => {
    const id = await fail('retry-cancelled');
    providers.chat.answer('no reply');
    expect(await retryDeliveries({ userIds: ['retry-cancelled'] })).toBe(1);
    await expectDelivery('retry-cancelled', id, { ...lost, attempts: 2 });
    await dismiss(gateway, 'retry-cancelled', [id]);
    await repeatNow('retry-cancelled');

    await expectDelivery('retry-cancelled', id, { state: 'MAYBE_DELIVERED', reason: 'SETTLED' });
  });
});

describe('a lease that expired', () => {
  const expectLate = (userId: string) =>
    eventually(() => {
      const late = gateway.logLines().filter((line) => line.includes('the lease was lost'));
      expect(late.filter((line) => line.includes(userId))).toHaveLength(1);
    });

  /** Publishes a notification that two senders send at the same time. */
  async function sendTwice(userId: string) {
    await putMember(userId);
    const first = await hold(() => publish(gateway, userId));
    const second = await hold(() => repeatNow(userId));
    return { id: first.result.id, releaseFirst: first.release, releaseSecond: second.release };
  }

  test.each(['first', 'second'])(
    'lets only the second sender store its result if the %s ends first',
    async (order) => {
      const userId = `lease-${order}`;
      const { id, releaseFirst, releaseSecond } = await sendTwice(userId);
      if (order === 'first') {
        releaseFirst();
        await expectLate(userId);
        await expectDelivery(userId, id, { state: 'SENDING', attempts: 2, reason: 'LEASE_EXPIRED' });
        releaseSecond();
      } else {
        releaseSecond();
        await expectDelivery(userId, id, delivered);
        releaseFirst();
        await expectLate(userId);
      }
      await expectDelivery(userId, id, { ...delivered, attempts: 2, reason: 'LEASE_EXPIRED' });
      // The sender that ends first has posted first.
      const [postedFirst, postedLast] = sentTo(userId).map(({ ts }) => ts);
      const receipt = `DU-${userId} ${order === 'first' ? postedLast : postedFirst}`;
      const { sql } = gateway.database;
      const rows = await sql('select receipt, claims from delivery where user_id = $1', [userId]);
      expect(rows).toEqual([{ receipt, claims: 2 }]);
    },
  );

  test('does not let the late result suspend the target', async () => {
    providers.chat.answer({ error: 'channel_not_found' });
    const { id, releaseFirst, releaseSecond } = await sendTwice('lease-suspended');
    releaseFirst();
    await expectLate('lease-suspended');
    releaseSecond();

    await expectDelivery('lease-suspended', id, delivered);
    expect(await readContact('lease-suspended')).toMatchObject({ chatSuspendedAt: null });
  });
});

describe('an attempt', () => {
  const browser = createBrowser();
  const title = 'A private title';
  const summary = 'A private plan';
  const secrets = {
    address: 'private-address@example.com',
    refusedAddress: 'refused-address@example.com',
    chatMemberId: 'U0PRIVATEMEMBER',
    endpoint: 'private-endpoint',
    password: 'smtp-password',
    ...{ title, summary },
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

  const stored = (userId: string) => listStored(gateway.database, userId);
  const readAttempts = (userId: string) =>
    gateway
      .logLines()
      .filter((line) => line.includes('delivery attempt'))
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ user }) => user === userId);
  const publishPrivate = (userId: string) =>
    publish(gateway, userId, 'plan_requested', {
      title,
      previewText: summary,
      payload: { planRequested: { toolId: 't', input: { summary, plan: summary } } },
    });

  test('is logged once, with its outcome', async () => {
    const { chat, push, pushReplies } = providers;
    await putContact(gateway, 'log', { email: secrets.address, chatMemberId: secrets.chatMemberId });
    await registerPush(gateway, 'log', `https://${push.host}/${secrets.endpoint}`, browser);
    chat.answer('no reply');
    pushReplies.push({ status: 503 }, { status: 410 });
    const { id } = await publishPrivate('log');
    const expectStored = async (chatState: string) =>
      expect(await stored('log')).toEqual([chatState, 'email delivered', 'push failed recipient_rejected']);
    await eventually(async () => {
      const { sql } = gateway.database;
      await sql(`update delivery set due_at = now() where channel = 'push' and state = 'pending'`);
      await expectStored('chat pending reply_lost');
    });
    await makeDue(gateway.database, 'log');
    await eventually(() => expectStored('chat delivered reply_lost'));
    await dismiss(gateway, 'log', [id]);
    await eventually(() => expect(readAttempts('log')).toHaveLength(6));
    await putContact(gateway, 'log', { email: secrets.refusedAddress });
    await publishPrivate('log');
    await eventually(() => expect(readAttempts('log')).toHaveLength(7));

    const attempts = readAttempts('log').map(({ channel, step, attempts, outcome, reason, providerCode }) =>
      [channel, step, attempts, outcome, reason, providerCode].join(' '),
    );
    expect(attempts.sort()).toEqual([
      'chat message 1 retry reply_lost ',
      'chat message 2 delivered  ',
      'chat update 3 delivered  ',
      'email message 1 delivered  ',
      'email message 1 failed recipient_rejected 550 5.1.1',
      'push message 1 unavailable provider_unavailable 503',
      'push message 2 failed recipient_rejected 410',
    ]);
    expect(readAttempts('log')[0]).toMatchObject({ user: 'log', notification: id });
  });

  test('of a push subscription that cannot be decrypted is repeated, and logged', async () => {
    const endpoint = `https://${providers.push.host}/${secrets.endpoint}-2`;
    const id = await registerPush(gateway, 'unreadable', endpoint, browser);
    await gateway.database.sql(`update push_subscription set ciphertext = 'k9.x' where id = $1`, [id]);
    await publishPrivate('unreadable');

    await eventually(async () =>
      expect(await stored('unreadable')).toEqual(['push pending target_unreadable']),
    );
    expect(readAttempts('unreadable')).toMatchObject([{ outcome: 'retry', reason: 'target_unreadable' }]);
    expect(gateway.logLines().join('\n')).toContain('a push subscription cannot be decrypted');
  });

  test('leaves no address, key, token or text in any log line', () => {
    const log = gateway.logLines().join('\n');
    expect(log).toContain('delivery attempt');
    const { CHAT_TOKEN, VAPID_PRIVATE_KEY } = providers.settings;
    for (const secret of [...Object.values(secrets), CHAT_TOKEN, VAPID_PRIVATE_KEY])
      expect(log).not.toContain(secret);
  });

  test('is counted by its outcome, and a delivered message is timed', async () => {
    const metrics = await scrape(gateway);
    const count = (channel: string, ...outcomes: string[]) =>
      outcomes.map((outcome) => metrics.sum('gateway_delivery_attempts_total', { channel, outcome }));
    expect(count('chat', 'delivered', 'reply_lost')).toEqual([2, 1]);
    expect(count('email', 'delivered', 'recipient_rejected')).toEqual([1, 1]);
    const failures = ['provider_unavailable', 'recipient_rejected', 'target_unreadable'];
    expect(count('push', ...failures)).toEqual([1, 1, 1]);
    const timed = (channel: string) => metrics.sum('gateway_delivery_delay_seconds_count', { channel });
    expect(['chat', 'email', 'push'].map(timed)).toEqual([1, 1, undefined]);
    const labels = metrics.samples.flatMap(({ labels }) => Object.values(labels)).join();
    expect(labels).not.toMatch(new RegExp(`private|${providers.push.host}`));
  });
});
