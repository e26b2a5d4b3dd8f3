import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { graphql } from '../support/client.ts';
import {
  addTargets,
  listDeliveries,
  listShown,
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
import { scrape } from '../support/metrics.ts';
import { createBrowser, type PushService, startPushService } from '../support/push-service.ts';
import { asMember, asPlatform, payloads, publish } from '../support/records.ts';
import { updateStatistics } from '../support/statistics.ts';
import { member, platform, signToken } from '../support/tokens.ts';

/** Why a test's notification is not sent. */
type Skip = { disabled?: boolean; suspended?: boolean; settings?: Record<string, string> };

describe('the API of deliveries', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ ...unreachableProviders, DELIVERY: 'false' });
  });
  afterAll(() => gateway.close());

  const FIELDS =
    'channel pushSubscriptionId state attempts reason providerCode nextAttemptAt createdAt updatedAt deliveredAt';
  const OWN = `query ($id: ID!) { deliveries(notificationId: $id) { ${FIELDS} } }`;
  const OF_USER = `query ($id: ID!, $userId: ID!) { user(id: $userId) { deliveries(notificationId: $id) { ${FIELDS} } } }`;
  const COUNTS = '{ platform { statistics { deliveries { channel state count } } } }';
  const BACKLOG = '{ platform { statistics { deliveryBacklog { channel count dueSince } } } }';

  const update = (userId: string, channel: string, columns: string) =>
    gateway.database.sql(`update delivery set ${columns} where user_id = $1 and channel = $2`, [
      userId,
      channel,
    ]);

  test('a user reads the deliveries of a notification, one for each target', async () => {
    const subscription = await addTargets(gateway, 'alice');
    const { id, createdAt } = await publish(gateway, 'alice');
    const { deliveries } = await asMember(gateway, 'alice', OWN, { id });

    const delivery = {
      state: 'PENDING',
      attempts: 0,
      reason: null,
      providerCode: null,
      pushSubscriptionId: null,
      nextAttemptAt: expect.any(String),
      createdAt,
      updatedAt: expect.any(String),
      deliveredAt: null,
    };
    expect(deliveries).toEqual([
      { ...delivery, channel: 'CHAT_DM' },
      { ...delivery, channel: 'EMAIL' },
      { ...delivery, channel: 'PUSH', pushSubscriptionId: subscription },
    ]);
    expect(Date.parse(deliveries[1].nextAttemptAt) - Date.parse(deliveries[0].nextAttemptAt)).toBe(60_000);
  });

  test.each([
    ['pending', `state = 'pending'`, { state: 'PENDING', nextAttemptAt: expect.any(String) }],
    ['sending', `state = 'sending'`, { state: 'SENDING', nextAttemptAt: null }],
    [
      'delivered',
      `state = 'delivered', delivered_at = '2026-05-04T10:00:00Z'`,
      { state: 'DELIVERED', nextAttemptAt: null, deliveredAt: '2026-05-04T10:00:00.000Z' },
    ],
    [
      'waiting for its update',
      `state = 'pending', step = 'update'`,
      { state: 'DELIVERED', nextAttemptAt: null },
    ],
    ['being updated', `state = 'sending', step = 'update'`, { state: 'DELIVERED', nextAttemptAt: null }],
    [
      'failed',
      `state = 'failed', reason = 'recipient_rejected', provider_code = '550 5.1.1'`,
      { state: 'FAILED', reason: 'RECIPIENT_REJECTED', providerCode: '550 5.1.1', nextAttemptAt: null },
    ],
    [
      'cancelled',
      `state = 'cancelled', reason = 'settled'`,
      { state: 'CANCELLED', reason: 'SETTLED', nextAttemptAt: null },
    ],
  ])('shows a delivery that is %s', async (name, columns, shown) => {
    const userId = `shown-${name.replaceAll(' ', '-')}`;
    await putContact(gateway, userId, { chatMemberId: `U-${userId}` });
    const { id } = await publish(gateway, userId);
    await update(userId, 'chat', columns);

    expect(await listDeliveries(gateway, userId, id)).toMatchObject([shown]);
  });

  test("a dashboard reads another user's deliveries, and another user does not", async () => {
    await addTargets(gateway, 'bob');
    const { id } = await publish(gateway, 'bob');

    expect((await asPlatform(gateway, OF_USER, { id, userId: 'bob' })).user.deliveries).toHaveLength(3);
    expect((await asMember(gateway, 'mallory', OWN, { id })).deliveries).toEqual([]);
    const reply = await graphql(gateway, OF_USER, { id, userId: 'bob' }, { token: await member('mallory') });
    expect(reply.errors[0].extensions.code).toBe('FORBIDDEN');
    expect(reply.data.user).toBeNull();
  });

  test.each([
    ['has no target', {}, ['CHAT_DM', 'EMAIL', 'PUSH'], 'NO_TARGET'],
    ['is disabled', { disabled: true }, ['CHAT_DM', 'EMAIL', 'PUSH'], 'CHANNEL_DISABLED'],
    ['has a suspended target', { suspended: true }, ['CHAT_DM', 'EMAIL'], 'NO_TARGET'],
    ['has no provider', { settings: {} }, ['CHAT_DM', 'EMAIL', 'PUSH'], 'NO_PROVIDER'],
  ])('shows that a channel %s', async (name, { disabled, suspended, settings }: Skip, channels, reason) => {
    const userId = `skipped-${name.replaceAll(' ', '-')}`;
    if (disabled || suspended || settings) await addTargets(gateway, userId);
    if (suspended) {
      await gateway.database.sql(
        'update contact set email_suspended_at = now(), chat_suspended_at = now() where user_id = $1',
        [userId],
      );
    }
    if (disabled) {
      const off = { emailEnabled: false, pushEnabled: false, chatDmEnabled: false };
      const query =
        'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';
      await asMember(gateway, userId, query, { input: { preferences: [off] } });
    }
    const other = settings && (await startTestGateway(settings, gateway.database));
    const { id, createdAt } = await publish(other ?? gateway, userId);
    await other?.close();
    // What changes later does not change why nothing was sent.
    await addTargets(gateway, userId);

    const { deliveries } = await asMember(gateway, userId, OWN, { id });
    expect(deliveries.filter(({ state }: { state: string }) => state === 'SKIPPED')).toEqual(
      channels.map((channel) => ({
        channel,
        state: 'SKIPPED',
        reason,
        attempts: 0,
        providerCode: null,
        pushSubscriptionId: null,
        nextAttemptAt: null,
        createdAt,
        updatedAt: createdAt,
        deliveredAt: null,
      })),
    );
    expect(deliveries).toHaveLength(3);
  });

  test('a channel is no longer shown as skipped once a repeat has queued a delivery', async () => {
    const input = { id: 'n-1', task: { id: 't', projectId: 'p' } };
    await publish(gateway, 'later-target', 'task_failed', input);
    expect(await listShown(gateway, 'later-target', 'n-1')).toMatchObject(
      Array(3).fill({ state: 'SKIPPED', reason: 'NO_TARGET' }),
    );
    await putContact(gateway, 'later-target', { email: 'later@example.com' });
    await publish(gateway, 'later-target', 'task_failed', input);
    expect(await listShown(gateway, 'later-target', 'n-1')).toMatchObject([
      { channel: 'CHAT_DM', state: 'SKIPPED' },
      { channel: 'EMAIL', state: 'PENDING', reason: null },
      { channel: 'PUSH', state: 'SKIPPED' },
    ]);
  });

  test('an unknown notification has no deliveries', async () => {
    expect((await asMember(gateway, 'alice', OWN, { id: 'unknown' })).deliveries).toEqual([]);
  });

  test.each([
    ['deliveries', OWN, 'workspaces:read'],
    ['platform', COUNTS, 'platform:admin'],
    ['retryDeliveries', 'mutation { retryDeliveries(input: {}) { count } }', 'platform:notifications'],
  ])('%s requires its scope', async (_field, query, scope) => {
    const token = await signToken({ sub: 'service', org_id: 'acme', scope });
    const { errors } = await graphql(gateway, query, { id: 'n' }, { token });

    expect(errors[0].extensions.code).toBe('FORBIDDEN');
  });

  test('the statistics count deliveries, and what is due', async () => {
    await gateway.database.sql('delete from delivery');
    for (const userId of ['one', 'two', 'three']) {
      await addTargets(gateway, userId);
      await publish(gateway, userId);
    }
    await update('one', 'chat', `state = 'delivered', step = 'update'`);
    await update('two', 'chat', `state = 'pending', step = 'update', due_at = '2026-05-04T10:00:00Z'`);
    await update('one', 'push', `state = 'failed', due_at = '2026-05-04T08:00:00Z'`);
    await update('two', 'push', `state = 'sending', due_at = '2026-05-04T09:00:00Z'`);
    await update('three', 'push', `due_at = now() + interval '1 h'`);
    await gateway.database.sql('update delivery set first_due_at = due_at');

    await updateStatistics(gateway.database);
    expect((await asPlatform(gateway, COUNTS)).platform.statistics.deliveries).toEqual([
      { channel: 'CHAT_DM', state: 'DELIVERED', count: 2 },
      { channel: 'CHAT_DM', state: 'PENDING', count: 1 },
      { channel: 'EMAIL', state: 'PENDING', count: 3 },
      { channel: 'PUSH', state: 'FAILED', count: 1 },
      { channel: 'PUSH', state: 'PENDING', count: 1 },
      { channel: 'PUSH', state: 'SENDING', count: 1 },
    ]);
    expect((await asPlatform(gateway, BACKLOG)).platform.statistics.deliveryBacklog).toEqual([
      { channel: 'CHAT_DM', count: 2, dueSince: '2026-05-04T10:00:00.000Z' },
      { channel: 'PUSH', count: 1, dueSince: '2026-05-04T09:00:00.000Z' },
    ]);
  });

  test('a gateway that does not send reports the backlog', async () => {
    await gateway.database.sql('delete from delivery');
    await addTargets(gateway, 'waiting');
    await publish(gateway, 'waiting');
    await update(
      'waiting',
      'chat',
      `first_due_at = now() - interval '200 s', due_at = now() - interval '90 s'`,
    );
    await update(
      'waiting',
      'push',
      `first_due_at = now() - interval '300 s', due_at = now() + interval '90 s', attempts = 3`,
    );
    const reporting = await startTestGateway(
      { ...unreachableProviders, DELIVERY: 'false' },
      gateway.database,
    );
    const metrics = await scrape(reporting);
    await reporting.close();

    const backlog = (channel: string) => metrics.sum('gateway_delivery_backlog', { channel });
    expect([backlog('chat'), backlog('push'), backlog('email')]).toEqual([1, 1, 0]);
    const overdue = (channel: string) => metrics.sum('gateway_delivery_overdue_seconds', { channel });
    expect(overdue('chat')).toBeGreaterThanOrEqual(90);
    expect(overdue('chat')).toBeLessThan(200);
    expect([overdue('email'), overdue('push')]).toEqual([0, 0]);
    const age = (channel: string) => metrics.sum('gateway_delivery_age_seconds', { channel });
    expect(age('chat')).toBeGreaterThanOrEqual(200);
    expect(age('push')).toBeGreaterThanOrEqual(300);
    expect(age('email')).toBe(0);
    expect(metrics.types.has('gateway_delivery_attempts_total')).toBe(false);
  });

  test('a message that waits for its retry counts as backlog, but not as overdue', async () => {
    await gateway.database.sql('delete from delivery');
    await putContact(gateway, 'retried', { email: 'retried@example.com' });
    const sending = await startTestGateway(
      { ...unreachableProviders, DELIVERY_EMAIL_DELAY_SECONDS: '0' },
      gateway.database,
    );
    await publish(sending, 'retried');
    await eventually(async () =>
      expect(await listStored(gateway.database, 'retried')).toEqual(['email pending provider_unavailable']),
    );
    const metrics = await scrape(sending);
    await sending.close();

    const email = (name: string, labels = {}) =>
      metrics.sum(`gateway_delivery_${name}`, { channel: 'email', ...labels });
    expect([email('backlog'), email('overdue_seconds')]).toEqual([1, 0]);
    expect(email('age_seconds')).toBeGreaterThan(0);
    expect(email('attempts_total', { outcome: 'provider_unavailable' })).toBe(1);
    // A counter that starts with its first increment would hide that from `increase`.
    expect(email('attempts_total', { outcome: 'delivered' })).toBe(0);
  });

  test('without providers, there are no metrics of deliveries', async () => {
    const without = await startTestGateway({}, gateway.database);
    const { types } = await scrape(without);
    await without.close();

    expect([...types.keys()].filter((name) => name.startsWith('gateway_delivery'))).toEqual([]);
  });
});

describe('an attempt', () => {
  const encryptionKey = randomBytes(32);
  const browser = createBrowser();
  const secrets = {
    address: 'private-address@example.com',
    refusedAddress: 'refused-address@example.com',
    member: 'U0PRIVATEMEMBER',
    endpoint: 'private-endpoint',
    auth: browser.keys.auth,
    p256dh: browser.keys.p256dh,
    chatToken: 'chat-token',
    password: 'smtp-password',
    title: 'A private title',
    details: 'A private plan',
    vapidKey: unreachableProviders.VAPID_PRIVATE_KEY,
  };
  let chat: ChatApi;
  let mail: MailServer;
  let push: PushService;
  let gateway: TestGateway;
  const pushStatuses: number[] = [];
  beforeAll(async () => {
    chat = await startChatApi();
    mail = await startMailServer({
      onAuth: (_auth, _session, done) => done(null, { user: 'gateway' }),
      allowInsecureAuth: true,
      onRcptTo: ({ address }, _session, done) =>
        done(
          address === secrets.refusedAddress ? refusal(550, `5.1.1 <${address}> has no mailbox`) : undefined,
        ),
    });
    push = await startPushService((response) =>
      response.writeHead(pushStatuses.shift() ?? 201).end(secrets.endpoint),
    );
    gateway = await startTestGateway({
      ...unreachableProviders,
      SMTP_URL: `smtp://gateway:${secrets.password}@127.0.0.1:${mail.port}`,
      DELIVERY_EMAIL_DELAY_SECONDS: '0',
      PUSH_ALLOWED_HOSTS: push.host,
      CHAT_TOKEN: chat.token,
      CHAT_API_URL: chat.url,
      ENCRYPTION_KEYS: `k1:${encryptionKey.toString('base64')}`,
      LOG_LEVEL: 'trace',
    });
  });
  afterAll(async () => {
    await gateway.close();
    await push.close();
    await mail.close();
    await chat.close();
  });

  type Attempt = Record<string, unknown>;
  const readAttempts = (userId: string): Attempt[] =>
    gateway
      .logLines()
      .filter((line) => line.includes('delivery attempt'))
      .map((line): Attempt => JSON.parse(line))
      .filter(({ user }) => user === userId);

  const publishPrivate = (userId: string) =>
    publish(gateway, userId, 'plan_requested', {
      title: secrets.title,
      previewText: secrets.details,
      payload: { planRequested: { toolId: 't', input: { summary: secrets.details, plan: secrets.details } } },
    });

  test('is logged once, with its outcome', async () => {
    await putContact(gateway, 'log', { email: secrets.address, chatMemberId: secrets.member });
    await registerPush(gateway, 'log', `https://${push.host}/${secrets.endpoint}`, browser);
    chat.answer('no reply');
    pushStatuses.push(503, 410);
    const { id } = await publishPrivate('log');
    await eventually(async () => {
      await gateway.database.sql(
        `update delivery set due_at = now() where user_id = 'log' and channel = 'push' and state = 'pending'`,
      );
      expect(await listStored(gateway.database, 'log')).toEqual([
        'chat pending reply_lost',
        'email delivered',
        'push failed recipient_rejected',
      ]);
    });
    await makeDue(gateway.database, 'log');
    await eventually(async () =>
      expect(await listStored(gateway.database, 'log')).toContain('chat delivered reply_lost'),
    );
    await dismiss(gateway, 'log', [id]);
    await eventually(() => expect(chat.messages.flatMap(({ updates }) => updates)).toHaveLength(1));
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
    await registerPush(gateway, 'unreadable', `https://${push.host}/${secrets.endpoint}-2`, browser);
    await gateway.database.sql(
      `update push_subscription set ciphertext = 'k9.x' where user_id = 'unreadable'`,
    );
    const { id } = await publishPrivate('unreadable');

    await eventually(async () =>
      expect(await listDeliveries(gateway, 'unreadable', id)).toMatchObject([
        { state: 'PENDING', reason: 'TARGET_UNREADABLE', attempts: 1 },
      ]),
    );
    expect(readAttempts('unreadable')).toMatchObject([{ outcome: 'retry', reason: 'target_unreadable' }]);
    expect(gateway.logLines().join('\n')).toContain('a push subscription cannot be decrypted');
  });

  test('leaves no address, key, token or text in any log line', () => {
    const log = gateway.logLines().join('\n');
    expect(log).toContain('delivery attempt');
    for (const secret of Object.values(secrets)) expect(log).not.toContain(secret);
  });

  test('is counted by its outcome, and a delivered message is timed', async () => {
    const metrics = await scrape(gateway);
    const count = (channel: string, outcome: string) =>
      metrics.sum('gateway_delivery_attempts_total', { channel, outcome });
    expect({
      chat: [count('chat', 'delivered'), count('chat', 'reply_lost')],
      email: [count('email', 'delivered'), count('email', 'recipient_rejected')],
      push: ['provider_unavailable', 'recipient_rejected', 'target_unreadable'].map((outcome) =>
        count('push', outcome),
      ),
    }).toEqual({ chat: [2, 1], email: [1, 1], push: [1, 1, 1] });
    const timed = (channel: string) => metrics.sum('gateway_delivery_delay_seconds_count', { channel });
    expect([timed('chat'), timed('email'), timed('push')]).toEqual([1, 1, undefined]);
    const labels = metrics.samples.flatMap(({ labels }) => Object.values(labels));
    expect(labels.filter((label) => label.includes('private') || label.includes(push.host))).toEqual([]);
  });
});

test('a database without deliveries has empty statistics', async () => {
  const gateway = await startTestGateway();
  await publish(gateway, 'alice', 'task_failed', { payload: payloads.task_failed });
  await updateStatistics(gateway.database);
  const token = await platform('platform:read');
  const { data } = await graphql(
    gateway,
    '{ platform { statistics { deliveries { count } deliveryBacklog { count } } } }',
    {},
    { token },
  );
  await gateway.close();

  expect(data.platform.statistics).toEqual({ deliveries: [], deliveryBacklog: [] });
});
