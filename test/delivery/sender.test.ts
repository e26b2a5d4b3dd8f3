import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import {
  type Delivery,
  listDeliveries,
  listStored,
  makeDue,
  putContact,
  registerPush,
  unreachableProviders,
} from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { type MailServer, refusal, startMailServer } from '../support/mail-server.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { asMember, asPlatform, publish } from '../support/records.ts';

let chat: ChatApi;
let mail: MailServer;
let push: PushService;
let gateway: TestGateway;
let settings: Record<string, string>;
beforeAll(async () => {
  chat = await startChatApi();
  mail = await startMailServer({
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('refused') ? refusal(550, '5.1.1 No such mailbox') : undefined),
  });
  push = await startPushService((response, _socket) => {
    const { status, headers } = pushReplies.shift() ?? { status: 201 };
    response.writeHead(status, headers).end();
  });
  settings = {
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    SMTP_FROM: unreachableProviders.SMTP_FROM,
    DELIVERY_EMAIL_DELAY_SECONDS: '0',
    VAPID_PRIVATE_KEY: unreachableProviders.VAPID_PRIVATE_KEY,
    VAPID_SUBJECT: unreachableProviders.VAPID_SUBJECT,
    PUSH_ALLOWED_HOSTS: push.host,
    CHAT_TOKEN: chat.token,
    CHAT_API_URL: chat.url,
  };
  gateway = await startTestGateway(settings);
});
afterAll(async () => {
  await gateway.close();
  await push.close();
  await mail.close();
  await chat.close();
});

/** The replies to the next push messages. Further ones are accepted. */
const pushReplies: { status: number; headers?: Record<string, string> }[] = [];

const putMember = (userId: string) => putContact(gateway, userId, { chatMemberId: `U-${userId}` });
const sentTo = (userId: string) => chat.messages.filter(({ memberId }) => memberId === `U-${userId}`);
const endpointOf = (userId: string) => `https://${push.host}/${userId}`;

/** Waits until the only delivery of a notification matches. */
async function expectDelivery(userId: string, id: string, expected: Partial<Delivery>): Promise<Delivery> {
  return eventually(async () => {
    const [delivery, ...others] = await listDeliveries(gateway, userId, id);
    expect(others).toEqual([]);
    expect(delivery).toMatchObject(expected);
    if (delivery === undefined) throw new Error('There is no delivery.');
    return delivery;
  });
}

/** Sets columns of a user's deliveries. */
const update = (userId: string, columns: string) =>
  gateway.database.sql(`update delivery set ${columns} where user_id = $1`, [userId]);

async function retryDeliveries(filter: object): Promise<number> {
  const query = 'mutation ($input: RetryDeliveriesInput!) { retryDeliveries(input: $input) { count } }';
  return (await asPlatform(gateway, query, { input: { filter } })).retryDeliveries.count;
}

const readContact = async (userId: string) =>
  (await asMember(gateway, userId, '{ contact { emailSuspendedAt chatSuspendedAt } }')).contact;

test('a notification is delivered over every channel', async () => {
  await putContact(gateway, 'everywhere', { email: 'everywhere@example.com', chatMemberId: 'U-everywhere' });
  await registerPush(gateway, 'everywhere', endpointOf('everywhere'));
  const { id } = await publish(gateway, 'everywhere');

  await eventually(async () =>
    expect(await listStored(gateway.database, 'everywhere', id)).toEqual([
      'chat delivered',
      'email delivered',
      'push delivered',
    ]),
  );
  expect(sentTo('everywhere')).toHaveLength(1);
  expect(mail.mails.map(({ to }) => to)).toEqual([['everywhere@example.com']]);
  expect(push.requests.map(({ url }) => url)).toEqual(['/everywhere']);
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
    await asMember(
      gateway,
      userId,
      `mutation { updateNotificationPreferences(input: { preferences: [
        { emailEnabled: true, pushEnabled: true, chatDmEnabled: true }] }) { __typename } }`,
    );
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
    await eventually(async () =>
      expect(await listStored(gateway.database, userId, id)).toEqual([`chat cancelled ${reason}`]),
    );
    expect(sentTo(userId)).toEqual([]);
  });

  test('sends to an address that was updated meanwhile', async () => {
    await putContact(gateway, 'moved', { chatMemberId: 'U-old' });
    const release = chat.hold();
    chat.answer('no reply');
    const call = chat.nextCall();
    const { id } = await publish(gateway, 'moved');
    await call;
    release();
    await expectDelivery('moved', id, { state: 'PENDING', attempts: 1 });
    await putMember('moved');
    await makeDue(gateway.database, 'moved');

    await expectDelivery('moved', id, { state: 'DELIVERED', attempts: 2 });
    expect(sentTo('moved')).toHaveLength(1);
  });
});

describe('a notification that is settled while it is sent', () => {
  async function settleDuringAttempt(userId: string): Promise<{ id: string; release: () => void }> {
    await putMember(userId);
    const release = chat.hold();
    const call = chat.nextCall();
    const { id } = await publish(gateway, userId);
    await call;
    await dismiss(gateway, userId, [id]);
    expect(await listStored(gateway.database, userId)).toEqual(['chat sending']);
    return { id, release };
  }

  test('is marked as settled afterwards', async () => {
    const { id, release } = await settleDuringAttempt('settled-late');
    release();

    await eventually(() => expect(sentTo('settled-late').map(({ updates }) => updates.length)).toEqual([1]));
    await expectDelivery('settled-late', id, { state: 'DELIVERED', reason: null });
  });

  test('is not sent again if the attempt fails', async () => {
    chat.answer('no reply');
    const { id, release } = await settleDuringAttempt('settled-failed');
    release();
    await expectDelivery('settled-failed', id, { state: 'PENDING', attempts: 1 });
    await makeDue(gateway.database, 'settled-failed');

    await expectDelivery('settled-failed', id, { state: 'MAYBE_DELIVERED', reason: 'SETTLED', attempts: 1 });
    expect(sentTo('settled-failed')).toHaveLength(1);
  });
});

describe('marking a message as settled', () => {
  async function sendTo(userId: string): Promise<string> {
    await putMember(userId);
    const { id } = await publish(gateway, userId);
    await expectDelivery(userId, id, { state: 'DELIVERED' });
    return id;
  }

  test('succeeds for a contact that was removed after the delivery', async () => {
    const id = await sendTo('left-since');
    await putContact(gateway, 'left-since', {});
    await dismiss(gateway, 'left-since', [id]);

    await eventually(() => expect(sentTo('left-since')[0]?.updates).toHaveLength(1));
  });

  test('is repeated if it fails, and the message stays delivered', async () => {
    const id = await sendTo('update-lost');
    chat.answer('no reply');
    await dismiss(gateway, 'update-lost', [id]);
    await eventually(() => expect(sentTo('update-lost')[0]?.updates).toHaveLength(1));
    await expectDelivery('update-lost', id, {
      state: 'DELIVERED',
      reason: 'REPLY_LOST',
      nextAttemptAt: null,
    });
    await makeDue(gateway.database, 'update-lost');

    await eventually(() => expect(sentTo('update-lost')[0]?.updates).toHaveLength(2));
    await eventually(async () =>
      expect(await listStored(gateway.database, 'update-lost')).toEqual(['chat delivered reply_lost']),
    );
  });

  test('stops if the provider rejects it, without suspending the target', async () => {
    const id = await sendTo('update-refused');
    chat.answer({ error: 'channel_not_found' });
    await dismiss(gateway, 'update-refused', [id]);

    await eventually(async () =>
      expect(await listStored(gateway.database, 'update-refused')).toEqual([
        'chat delivered recipient_rejected',
      ]),
    );
    expect(await readContact('update-refused')).toMatchObject({ chatSuspendedAt: null });
  });
});

describe('a message that may be accepted later', () => {
  test('is retried and keeps the reason of the retry', async () => {
    await putMember('repeated');
    chat.answer('no reply');
    const { id } = await publish(gateway, 'repeated');
    const pending = await expectDelivery('repeated', id, {
      state: 'PENDING',
      attempts: 1,
      reason: 'REPLY_LOST',
      deliveredAt: null,
    });
    expect(Date.parse(String(pending.nextAttemptAt))).toBeGreaterThan(Date.now());
    await makeDue(gateway.database, 'repeated');

    await expectDelivery('repeated', id, {
      state: 'DELIVERED',
      attempts: 2,
      reason: 'REPLY_LOST',
      nextAttemptAt: null,
      deliveredAt: expect.any(String),
    });
    expect(sentTo('repeated')).toHaveLength(2);
  });

  test('is not sent before Retry-After', async () => {
    await registerPush(gateway, 'later', endpointOf('later'));
    pushReplies.push({ status: 429, headers: { 'Retry-After': '3000' } });
    const { id } = await publish(gateway, 'later');

    const { nextAttemptAt } = await expectDelivery('later', id, {
      state: 'PENDING',
      reason: 'RATE_LIMITED',
      providerCode: '429',
    });
    const [row] = await gateway.database.sql(
      `select extract(epoch from due_at - updated_at)::float8 as delay from delivery where user_id = 'later'`,
    );
    expect(row?.delay).toBeGreaterThanOrEqual(3000);
    expect(Date.parse(String(nextAttemptAt))).toBeGreaterThan(Date.now() + 2_900_000);
  });

  test('expires', async () => {
    await putMember('expired');
    chat.answer('no reply');
    const { id } = await publish(gateway, 'expired');
    await expectDelivery('expired', id, { state: 'PENDING', attempts: 1 });
    await update('expired', 'due_at = now(), expires_at = now()');

    await expectDelivery('expired', id, {
      state: 'MAYBE_DELIVERED',
      reason: 'EXPIRED',
      attempts: 1,
      nextAttemptAt: null,
    });
    expect(sentTo('expired')).toHaveLength(1);
  });

  test('expires at once if its next attempt would be too late', async () => {
    await registerPush(gateway, 'too-late', endpointOf('too-late'));
    pushReplies.push({ status: 429, headers: { 'Retry-After': '86400' } });
    const { id } = await publish(gateway, 'too-late');

    await expectDelivery('too-late', id, {
      state: 'FAILED',
      reason: 'EXPIRED',
      providerCode: '429',
      attempts: 1,
    });
  });
});

describe('a message that is refused', () => {
  test('fails, without consequences for the target', async () => {
    await putMember('refused-message');
    chat.answer({ error: 'msg_too_long' });
    const { id } = await publish(gateway, 'refused-message');

    await expectDelivery('refused-message', id, {
      state: 'FAILED',
      reason: 'MESSAGE_REJECTED',
      providerCode: 'msg_too_long',
      attempts: 1,
    });
    expect(await readContact('refused-message')).toMatchObject({ chatSuspendedAt: null });
    const next = await publish(gateway, 'refused-message');
    await expectDelivery('refused-message', next.id, { state: 'DELIVERED' });
  });

  test('because of the chat member suspends the member until the contact is put again', async () => {
    await putContact(gateway, 'no-member', { email: 'no-member@example.com', chatMemberId: 'U-no-member' });
    chat.answer('cut reply');
    const waiting = await publish(gateway, 'no-member');
    await eventually(async () =>
      expect(await listStored(gateway.database, 'no-member')).toEqual([
        'chat pending reply_lost',
        'email delivered',
      ]),
    );
    await update(
      'no-member',
      `due_at = now() + interval '1 h', reason = case channel when 'chat' then 'rate_limited' end`,
    );
    chat.answer({ error: 'channel_not_found' });
    const { id } = await publish(gateway, 'no-member');

    await eventually(async () => {
      expect(await listStored(gateway.database, 'no-member', id)).toEqual([
        'chat failed recipient_rejected',
        'email delivered',
      ]);
      expect(await listStored(gateway.database, 'no-member', waiting.id)).toEqual([
        'chat cancelled target_removed',
        'email delivered',
      ]);
    });
    expect(await readContact('no-member')).toEqual({
      emailSuspendedAt: null,
      chatSuspendedAt: expect.any(String),
    });
    const unsent = await publish(gateway, 'no-member');
    expect(await retryDeliveries({ userIds: ['no-member'] })).toBe(0);
    await eventually(async () =>
      expect(await listStored(gateway.database, 'no-member', unsent.id)).toEqual(['email delivered']),
    );

    await putContact(gateway, 'no-member', { email: 'no-member@example.com', chatMemberId: 'U-no-member' });
    expect(await retryDeliveries({ userIds: ['no-member'] })).toBe(1);
    await eventually(async () =>
      expect(await listStored(gateway.database, 'no-member', id)).toEqual([
        'chat delivered recipient_rejected',
        'email delivered',
      ]),
    );
  });

  test('because of the address suspends it', async () => {
    const address = 'refused@example.com';
    await putContact(gateway, 'no-mailbox', { email: address });
    const { id } = await publish(gateway, 'no-mailbox');

    await expectDelivery('no-mailbox', id, {
      state: 'FAILED',
      reason: 'RECIPIENT_REJECTED',
      providerCode: '550 5.1.1',
    });
    await eventually(async () =>
      expect(await readContact('no-mailbox')).toMatchObject({ emailSuspendedAt: expect.any(String) }),
    );
    expect(mail.mails.flatMap(({ to }) => to)).not.toContain(address);
  });

  test('because of the push subscription removes it', async () => {
    const gone = await registerPush(gateway, 'unsubscribed', endpointOf('unsubscribed'));
    pushReplies.push({ status: 410 });
    const { id } = await publish(gateway, 'unsubscribed');

    await expectDelivery('unsubscribed', id, {
      state: 'FAILED',
      reason: 'RECIPIENT_REJECTED',
      providerCode: '410',
      pushSubscriptionId: gone,
    });
    await eventually(async () =>
      expect(
        (await asMember(gateway, 'unsubscribed', '{ pushSubscriptions { id } }')).pushSubscriptions,
      ).toEqual([]),
    );
  });

  test('is not sent again if the suspension of the target fails', async () => {
    await gateway.database.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'read-only'; end $$`,
    );
    await gateway.database.sql(
      `create trigger refuse before update on contact for each row
        when (new.user_id = 'unsuspended' and new.email_suspended_at is not null) execute function refuse()`,
    );
    await putContact(gateway, 'unsuspended', { email: 'refused-again@example.com' });
    const { id } = await publish(gateway, 'unsuspended');

    await eventually(() =>
      expect(gateway.logLines().join()).toContain(
        'suspending a refused target failed; its next refusal suspends it',
      ),
    );
    await expectDelivery('unsuspended', id, { state: 'FAILED', attempts: 1 });
    expect(gateway.logLines().join()).not.toContain('completing a delivery failed');
    await gateway.database.sql('drop trigger refuse on contact');
    await publish(gateway, 'unsuspended');
    await eventually(async () =>
      expect(await readContact('unsuspended')).toMatchObject({ emailSuspendedAt: expect.any(String) }),
    );
  });

  test('does not suspend a member that the platform replaced meanwhile', async () => {
    await putMember('replaced');
    const release = chat.hold();
    chat.answer({ error: 'user_not_found' });
    const call = chat.nextCall();
    const { id } = await publish(gateway, 'replaced');
    await call;
    await putContact(gateway, 'replaced', { chatMemberId: 'U-new' });
    release();
    await expectDelivery('replaced', id, { state: 'FAILED' });
    expect(await retryDeliveries({ userIds: ['replaced'] })).toBe(1);

    await expectDelivery('replaced', id, { state: 'DELIVERED' });
    expect(await readContact('replaced')).toMatchObject({ chatSuspendedAt: null });
  });
});

describe('retryDeliveries', () => {
  async function fail(userId: string): Promise<string> {
    await putMember(userId);
    chat.answer({ error: 'msg_too_long' });
    const { id } = await publish(gateway, userId);
    await expectDelivery(userId, id, { state: 'FAILED' });
    return id;
  }

  test('sends failed deliveries of a user, optionally in one channel, once', async () => {
    const one = await fail('retry-one');
    const two = await fail('retry-two');
    expect(await retryDeliveries({ userIds: ['retry-one'], channels: ['EMAIL'] })).toBe(0);
    expect(await retryDeliveries({ userIds: ['retry-one'], channels: [] })).toBe(0);
    expect(await retryDeliveries({ userIds: [] })).toBe(0);
    expect(await retryDeliveries({ userIds: ['retry-one'], channels: ['CHAT_DM'] })).toBe(1);

    await expectDelivery('retry-one', one, { state: 'DELIVERED', attempts: 2, reason: 'MESSAGE_REJECTED' });
    await expectDelivery('retry-two', two, { state: 'FAILED', attempts: 1 });
    expect(await retryDeliveries({ userIds: ['retry-one'] })).toBe(0);
    expect(await retryDeliveries({ userIds: ['retry-two'] })).toBe(1);
    await expectDelivery('retry-two', two, { state: 'DELIVERED' });
  });

  test('allows attempts of an expired delivery for another 24 hours', async () => {
    const id = await fail('retry-expired');
    await update('retry-expired', `expires_at = now() - interval '1 h', reason = 'expired'`);
    expect(await retryDeliveries({ userIds: ['retry-expired'] })).toBe(1);

    await expectDelivery('retry-expired', id, { state: 'DELIVERED', reason: 'EXPIRED' });
  });

  test('does not send what is settled', async () => {
    const id = await fail('retry-settled');
    await dismiss(gateway, 'retry-settled', [id]);

    expect(await retryDeliveries({ userIds: ['retry-settled'] })).toBe(0);
    await expectDelivery('retry-settled', id, { state: 'FAILED', reason: 'MESSAGE_REJECTED' });
  });

  test('makes deliveries cancellable again', async () => {
    const id = await fail('retry-cancelled');
    const release = chat.hold();
    chat.answer('no reply');
    const call = chat.nextCall();
    expect(await retryDeliveries({ userIds: ['retry-cancelled'] })).toBe(1);
    await call;
    release();
    await expectDelivery('retry-cancelled', id, { state: 'PENDING', reason: 'REPLY_LOST' });
    await dismiss(gateway, 'retry-cancelled', [id]);
    await makeDue(gateway.database, 'retry-cancelled');

    await expectDelivery('retry-cancelled', id, { state: 'MAYBE_DELIVERED', reason: 'SETTLED' });
  });
});

describe('a lease that expired', () => {
  const LATE = 'the lease was lost';
  const expire = (userId: string) => update(userId, 'due_at = now()');
  const countLate = (userId: string) =>
    gateway.logLines().filter((line) => line.includes(LATE) && line.includes(userId)).length;

  test.each(['first', 'second'])(
    'lets only the second sender store its result if the %s ends first',
    async (order) => {
      const userId = `lease-${order}`;
      await putMember(userId);
      const releaseFirst = chat.hold();
      const firstCall = chat.nextCall();
      const { id } = await publish(gateway, userId);
      await firstCall;
      const releaseSecond = chat.hold();
      const secondCall = chat.nextCall();
      await expire(userId);
      await secondCall;

      if (order === 'first') {
        releaseFirst();
        await eventually(() => expect(countLate(userId)).toBe(1));
        await expectDelivery(userId, id, { state: 'SENDING', attempts: 2, reason: 'LEASE_EXPIRED' });
        releaseSecond();
        await expectDelivery(userId, id, { state: 'DELIVERED' });
      } else {
        releaseSecond();
        await expectDelivery(userId, id, { state: 'DELIVERED' });
        releaseFirst();
        await eventually(() => expect(countLate(userId)).toBe(1));
      }
      await expectDelivery(userId, id, { state: 'DELIVERED', attempts: 2, reason: 'LEASE_EXPIRED' });
      // The sender that ends first has posted first.
      const [postedFirst, postedLast] = sentTo(userId).map(({ ts }) => ts);
      const stored = order === 'first' ? postedLast : postedFirst;
      const [row] = await gateway.database.sql('select receipt, claims from delivery where user_id = $1', [
        userId,
      ]);
      expect(row).toEqual({ receipt: `DU-${userId} ${stored}`, claims: 2 });
    },
  );

  test('does not let the late result suspend the target', async () => {
    await putMember('lease-suspended');
    chat.answer({ error: 'channel_not_found' });
    const releaseFirst = chat.hold();
    const firstCall = chat.nextCall();
    const { id } = await publish(gateway, 'lease-suspended');
    await firstCall;
    const releaseSecond = chat.hold();
    const secondCall = chat.nextCall();
    await expire('lease-suspended');
    await secondCall;
    releaseFirst();
    await eventually(() => expect(countLate('lease-suspended')).toBe(1));
    releaseSecond();

    await expectDelivery('lease-suspended', id, { state: 'DELIVERED' });
    expect(await readContact('lease-suspended')).toMatchObject({ chatSuspendedAt: null });
  });
});
