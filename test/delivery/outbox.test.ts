import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createUnsubscribeTokens, toUnsubscribeUrl } from '../../src/delivery/email/unsubscribe-token.ts';
import { conflict } from '../support/as.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import {
  addTargets,
  listShown,
  listStored,
  putContact,
  registerPush,
  unreachableProviders,
  untilEnded,
} from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss } from '../support/inbox.ts';
import { notification, payloads, publish, resolve } from '../support/records.ts';
import { makeExpired } from '../support/requests.ts';
import { platform } from '../support/tokens.ts';

/* What publishing queues, what it leaves to the caller, and what cancels deliveries before they are sent. */

const encryptionKey = randomBytes(32);
const settings = {
  ...unreachableProviders,
  DELIVERY: 'false',
  DELIVERY_EMAIL_DELAY_SECONDS: '7',
  ENCRYPTION_KEYS: `k1:${encryptionKey.toString('base64')}`,
};
const gateway = useGateway(settings);
const { as } = gateway;
const { sign } = createUnsubscribeTokens(new Map([['k1', createSecretKey(encryptionKey)]]));

const everywhere = ['chat pending', 'email pending', 'push pending'];
const cancelled = ['chat cancelled settled', 'email cancelled settled', 'push cancelled settled'];
const aMinuteAgo = () => new Date(Date.now() - 60_000).toISOString();

const draft = (userId: string, id: string, given: object = {}) =>
  notification(userId, 'task_failed', { id, task: { id: 'task', projectId: 'project' }, ...given });
const inTask = (id: string) => ({ task: { id, projectId: 'project' } });
const publishAll = (notifications: object[], at = gateway) => at.as(platform).publishAll({ notifications });
const stored = (userId: string, id?: string) => listStored(gateway.database, userId, id);
const setPreference = (userId: string, preference: object) =>
  as(userId).updatePreferences({ preferences: [preference] });
const makeOlder = (userId: string, interval: string) =>
  gateway.database.sql(
    `update notification set created_at = now() - interval '${interval}' where user_id = '${userId}'`,
  );

/** Publishes notifications at a gateway with other settings. */
async function publishWith(settings: Record<string, string>, ...notifications: object[]) {
  const other = await startTestGateway({ DELIVERY: 'false', ...settings }, gateway.database);
  try {
    return await publishAll(notifications, other);
  } finally {
    await other.close();
  }
}

const disable = (...channels: string[]) =>
  Object.fromEntries(channels.map((channel) => [`${channel}Enabled`, false]));
const chatOnly = { CHAT_TOKEN: unreachableProviders.CHAT_TOKEN };

type Reach = {
  targets?: string;
  isSuspended?: true;
  off?: string[];
  kind?: string;
  providers?: Record<string, string>;
};

/* Of chat, email and push: the state of the delivery, or why nothing is sent. */
test.each<[what: string, reach: Reach, shown: string]>([
  ['every target', {}, 'PENDING PENDING PENDING'],
  ['no target', { targets: '' }, 'NO_TARGET NO_TARGET NO_TARGET'],
  ['a chat member', { targets: 'chat' }, 'PENDING NO_TARGET NO_TARGET'],
  ['an address and a browser', { targets: 'email push' }, 'NO_TARGET PENDING PENDING'],
  ['suspended targets', { isSuspended: true }, 'NO_TARGET NO_TARGET PENDING'],
  ['email off', { off: ['email'] }, 'PENDING CHANNEL_DISABLED PENDING'],
  ['push off', { off: ['push'] }, 'PENDING PENDING CHANNEL_DISABLED'],
  ['chat off', { off: ['chatDm'] }, 'CHANNEL_DISABLED PENDING PENDING'],
  ['another kind off', { off: ['email'], kind: 'PLAN_REQUESTED' }, 'PENDING PENDING PENDING'],
  ['no provider nor target', { targets: '', providers: {} }, 'NO_PROVIDER NO_PROVIDER NO_PROVIDER'],
  ['one provider', { providers: chatOnly }, 'PENDING NO_PROVIDER NO_PROVIDER'],
  ['no provider, email off', { providers: {}, off: ['email'] }, 'NO_PROVIDER CHANNEL_DISABLED NO_PROVIDER'],
])('a user with %s: queues, shows what is skipped, and leaves to the caller', async (what, reach, shown) => {
  const { targets = 'chat email push', isSuspended, off, kind, providers } = reach;
  const userId = what.replaceAll(/\W+/g, '-');
  await putContact(gateway, userId, {
    ...(targets.includes('email') && { email: `${userId}@example.com` }),
    ...(targets.includes('chat') && { chatMemberId: `U-${userId}` }),
  });
  if (targets.includes('push')) await registerPush(gateway, userId, `https://push.example.com/${userId}`);
  if (isSuspended)
    await gateway.database.sql(
      `update contact set email_suspended_at = now(), chat_suspended_at = now() where user_id = $1`,
      [userId],
    );
  if (off) await setPreference(userId, { ...disable(...off), ...(kind && { notificationKind: kind }) });
  const [published] = await (providers
    ? publishWith(providers, draft(userId, 'n'))
    : publishAll([draft(userId, 'n')]));
  const [chat = '', email = '', push = ''] = shown.split(' ');
  const inOrder = Object.entries({ EMAIL: email, PUSH: push, CHAT_DM: chat });
  const having = (test: (shown: string) => boolean) =>
    inOrder.filter(([, state]) => test(state)).map(([channel]) => channel);
  expect(published).toMatchObject({
    created: true,
    channels: having((state) => state !== 'CHANNEL_DISABLED'),
    deliverByCaller: having((state) => state === 'NO_PROVIDER'),
  });
  // What changes later does not change why nothing was sent.
  await addTargets(gateway, userId);
  const states = await listShown(gateway, userId, 'n');
  expect(states.map(({ state, reason }) => (state === 'SKIPPED' ? reason : state)).join(' ')).toBe(shown);
  const queued = Object.entries({ chat, email, push }).filter(([, state]) => state === 'PENDING');
  expect(await stored(userId)).toEqual(queued.map(([channel]) => `${channel} pending`));
});

test('a delivery for each of several push subscriptions, email after its delay, and none after a day', async () => {
  const first = await addTargets(gateway, 'several');
  const second = await registerPush(gateway, 'several', 'https://push.example.com/second');
  await addTargets(gateway, 'other');
  await publishAll([draft('several', 'n')]);

  const rows = await gateway.database.sql(
    `select notification_id, channel, target, state, step, is_open, claims, attempts, reason,
            extract(epoch from due_at - updated_at)::int as delay,
            extract(epoch from expires_at - created_at)::int as lifetime
       from delivery where user_id in ('several', 'other') order by channel, target = $1 desc`,
    [first],
  );
  const row = { state: 'pending', step: 'message', is_open: true, claims: 0, attempts: 0, reason: null };
  const expected = [
    { channel: 'chat', target: '', delay: 0 },
    { channel: 'email', target: '', delay: 7 },
    { channel: 'push', target: first, delay: 0 },
    { channel: 'push', target: second, delay: 0 },
  ];
  expect(rows).toEqual(expected.map((one) => ({ ...row, notification_id: 'n', lifetime: 86_400, ...one })));
});

test('nothing for a notification that is stored as resolved', async () => {
  await addTargets(gateway, 'resolved');
  await resolve(gateway, 'resolved', 'task', 'ANSWERED_ELSEWHERE', new Date().toISOString());
  await publish(gateway, 'resolved', 'plan_requested', { ...inTask('task'), occurredAt: aMinuteAgo() });
  expect(await stored('resolved')).toEqual([]);
});

describe('a repeat of a publication', () => {
  test('queues only for targets that were added since, whose channels are then no longer skipped', async () => {
    await putContact(gateway, 'later', { chatMemberId: 'U-later' });
    await publishAll([draft('later', 'n')]);
    await gateway.database.sql(`update delivery set state = 'delivered' where user_id = 'later'`);
    await putContact(gateway, 'later', { chatMemberId: 'U-later', email: 'later@example.com' });
    expect(await publishAll([draft('later', 'n')])).toMatchObject([{ created: false }]);
    expect(await listShown(gateway, 'later', 'n')).toMatchObject([
      { channel: 'CHAT_DM', state: 'DELIVERED', reason: null },
      { channel: 'EMAIL', state: 'PENDING', reason: null },
      { channel: 'PUSH', state: 'SKIPPED', reason: 'NO_TARGET' },
    ]);
  });

  test('leaves the same channels to the caller, even if preferences and providers have changed', async () => {
    await addTargets(gateway, 'again');
    await publishWith(chatOnly, draft('again', 'n'));
    await setPreference('again', disable('email'));
    const [repeated] = await publishAll([draft('again', 'n')]);
    const channels = ['EMAIL', 'PUSH', 'CHAT_DM'];
    expect(repeated).toMatchObject({ created: false, channels, deliverByCaller: ['EMAIL', 'PUSH'] });
    expect(await stored('again')).toEqual(['chat pending']);
  });

  test('after more than 24 hours queues and leaves nothing', async () => {
    await publishWith({}, draft('late', 'n'));
    await makeOlder('late', '23 h 59 min');
    const [recent] = await publishAll([draft('late', 'n')]);
    expect(recent?.deliverByCaller).toEqual(['EMAIL', 'PUSH', 'CHAT_DM']);
    await makeOlder('late', '24 h 1 min');
    const [old] = await publishAll([draft('late', 'n')]);
    expect(old).toMatchObject({ created: false, deliverByCaller: [] });

    await publishAll([draft('unreached', 'n')]);
    await makeOlder('unreached', '25 h');
    await addTargets(gateway, 'unreached');
    await publishAll([draft('unreached', 'n')]);
    expect(await stored('unreached')).toEqual([]);
  });

  test('leaves nothing for a notification that is no longer active, or a request that has expired', async () => {
    const expiring = draft('settled', 'expired', {
      ...inTask('expiring'),
      payload: payloads.plan_requested,
      expiresInSeconds: 600,
    });
    await publishWith({}, draft('settled', 'superseded'), expiring);
    await publishWith({}, draft('settled', 'dismissed'));
    await dismiss(gateway, 'settled', ['dismissed']);
    // Nothing has stored the expiry yet.
    await makeExpired(gateway.database, 'settled', 'expired');
    for (const repeat of [draft('settled', 'superseded'), draft('settled', 'dismissed'), expiring]) {
      expect(await publishAll([repeat])).toMatchObject([{ created: false, deliverByCaller: [] }]);
    }
    const late = draft('settled', 'late', { occurredAt: aMinuteAgo() });
    expect(await publishWith({}, late)).toMatchObject([{ created: true, deliverByCaller: [] }]);
  });
});

describe('a batch', () => {
  test('queues only the last of several notifications of a task, and cancels the earlier one', async () => {
    await addTargets(gateway, 'batch');
    await publishAll([draft('batch', 'before'), draft('batch', 'other', inTask('b'))]);
    await publishAll([
      draft('batch', 'n-1'),
      draft('batch', 'another-kind', { payload: payloads.plan_requested }),
      draft('batch', 'n-2'),
      draft('batch', 'n-3'),
    ]);
    await untilEnded(gateway);

    const ids = ['before', 'n-1', 'n-2', 'n-3', 'another-kind', 'other'];
    expect(await Promise.all(ids.map((id) => stored('batch', id)))).toEqual([
      cancelled,
      [],
      [],
      everywhere,
      everywhere,
      everywhere,
    ]);
  });

  test('queues the deliveries of several users, each with channels of their own', async () => {
    await putContact(gateway, 'batch-a', { chatMemberId: 'U-batch-a' });
    await setPreference('batch-b', disable('email', 'push'));
    // The same notification ID for each: notifications are identified by user and ID.
    const users = ['batch-a', 'batch-b'];
    const results = await publishWith(chatOnly, ...users.map((user) => draft(user, 'same')));

    expect(results.map(({ deliverByCaller }) => deliverByCaller)).toEqual([['EMAIL', 'PUSH'], []]);
    expect(await Promise.all(users.map((user) => stored(user)))).toEqual([['chat pending'], []]);
  });

  test('queues and cancels nothing if it is rolled back', async () => {
    await addTargets(gateway, 'rolled-back');
    await publishAll([draft('rolled-back', 'taken')]);
    const batch = publishAll([
      draft('rolled-back', 'new'),
      draft('rolled-back', 'elsewhere', inTask('b')),
      draft('rolled-back', 'taken', { title: 'Another title' }),
    ]);
    await expect(batch).rejects.toMatchObject(conflict('ID_REUSED', 'input.notifications[2].id'));
    expect(await stored('rolled-back')).toEqual(everywhere);
  });
});

/** Lists the deliveries of a user after those that are no longer wanted were ended. */
async function storedAfterEnd(userId: string, id?: string): Promise<unknown[]> {
  await untilEnded(gateway);
  return listStored(gateway.database, userId, id);
}

const ofProject = (id: string) => ({ task: { id, projectId: `project-${id}` } });

/** Publishes a notification with a target in each channel, and another of another task and kind. */
async function publishTwo(userId: string): Promise<{ id: string; other: string }> {
  await addTargets(gateway, userId);
  const { id } = await publish(gateway, userId, 'plan_requested', ofProject('a'));
  const other = await publish(gateway, userId, 'task_failed', ofProject('b'));
  return { id, other: other.id };
}

type Filter = { kinds?: string[]; projectIds?: string[] };
const dismissThose = async (userId: string, filter: Filter) => {
  const upTo = await currentCursor(gateway, userId);
  await dismiss(gateway, userId, { filter: { ...filter, openRequests: true, upTo } });
};
const ofPlans = { notificationKind: 'PLAN_REQUESTED' };

/** States of chat, email and push: pending, or cancelled for a reason. */
const pending = 'pending pending pending';
const settled = 'settled settled settled';

test.each<[what: string, change: (userId: string, id: string) => unknown, its: string, others?: string]>([
  ['dismissing it', (user, id) => as(user).dismiss({ id }), settled],
  ['dismissing several', (user, id) => dismiss(gateway, user, [id, 'unknown']), settled],
  ['dismissing those of a kind', (user) => dismissThose(user, { kinds: ['PLAN_REQUESTED'] }), settled],
  ['dismissing those of a project', (user) => dismissThose(user, { projectIds: ['project-a'] }), settled],
  ['resolving its task', (user) => resolve(gateway, user, 'a'), settled],
  ['its successor', (user) => publish(gateway, user, 'plan_requested', ofProject('a')), settled],
  [
    'disabling email for its kind',
    (user) => setPreference(user, { ...ofPlans, emailEnabled: false }),
    'pending channel_disabled pending',
  ],
  [
    'disabling chat for all kinds',
    (user) => setPreference(user, { chatDmEnabled: false }),
    'channel_disabled pending pending',
    'channel_disabled pending pending',
  ],
  [
    'the unsubscribe link of its kind',
    async (userId) => {
      const url = toUnsubscribeUrl(gateway.address, sign({ userId, kind: 'plan_requested' }));
      expect((await fetch(url, { method: 'POST' })).status).toBe(200);
    },
    'pending channel_disabled pending',
  ],
  [
    'removing the contact',
    (user) => putContact(gateway, user, {}),
    'target_removed target_removed pending',
    'target_removed target_removed pending',
  ],
  [
    'replacing the contact',
    (user) => putContact(gateway, user, { email: 'new@example.com', chatMemberId: 'U-NEW' }),
    pending,
  ],
  [
    'registering the push subscription again',
    (user) => registerPush(gateway, user, `https://push.example.com/${user}`),
    pending,
  ],
])('%s cancels those deliveries, and no others', async (name, change, its, others = pending) => {
  const userId = name.replaceAll(/\W/g, '-');
  const { id, other } = await publishTwo(userId);
  const bystander = `${userId}-bystander`;
  await publishTwo(bystander);
  await change(userId, id);

  const list = (states: string) =>
    states.split(' ').map((state, index) => {
      const channel = ['chat', 'email', 'push'][index];
      return state === 'pending' ? `${channel} pending` : `${channel} cancelled ${state}`;
    });
  expect(await storedAfterEnd(userId, id)).toEqual(list(its));
  expect(await listStored(gateway.database, userId, other)).toEqual(list(others));
  expect(new Set(await listStored(gateway.database, bystander))).toEqual(new Set(list(pending)));
});

test('sent and failed deliveries are not cancelled, and a message that can be changed is updated once', async () => {
  const { id, other } = await publishTwo('sent');
  const set = (channel: string, changes: string) =>
    gateway.database.sql(`update delivery set ${changes} where user_id = 'sent' and channel = $1`, [channel]);
  await set('email', `state = 'delivered', is_open = false`);
  await set('push', `state = 'failed', is_open = false, reason = 'expired'`);
  await set('chat', `state = 'delivered', receipt = 'D1 1.0', due_at = now() + interval '1 h'`);
  await as('sent').dismiss({ id });

  expect(await storedAfterEnd('sent', id)).toEqual([
    'chat pending',
    'email delivered',
    'push failed expired',
  ]);
  const read = () => gateway.database.sql(`select * from delivery where user_id = 'sent'`);
  const rows = await read();
  const chat = rows.find(({ channel, notification_id }) => channel === 'chat' && notification_id === id);
  expect(chat).toMatchObject({ step: 'update', is_open: true });
  expect(Number(chat?.due_at)).toBeLessThanOrEqual(Date.now());
  // Neither a repeat nor a disabled channel changes a sent delivery.
  await as('sent').dismiss({ id });
  await setPreference('sent', { chatDmEnabled: false });
  expect(await storedAfterEnd('sent', other)).toContain('chat delivered');
  expect(await read()).toEqual(rows);
});

test('of a user with thousands, those that are settled are found, by the gateway that did so and by a sweep', async () => {
  const { sql } = gateway.database;
  await insertNotifications(gateway.database, 'many', 2500, { status: `'active'`, task_id: `'task-' || n` });
  await sql(`insert into user_revision (user_id, notifications) values ('many', 2500)`);
  await putContact(gateway, 'many', { chatMemberId: 'U-many' });
  await sql(
    `insert into delivery (user_id, notification_id, channel, target, provider, state, receipt, due_at, expires_at, created_at, updated_at)
       select user_id, id, 'chat', '', 'chat', 'delivered', 'D1 1.0', now(), now() + interval '1 day', now(), now()
         from notification where user_id = 'many'`,
  );
  const listUpdates = async () => {
    const rows = await sql(`select notification_id as id from delivery
      where user_id = 'many' and step = 'update' and state = 'pending' order by 1`);
    return rows.map(({ id }) => id);
  };
  const all = await sql(`select id from notification where user_id = 'many' order by id`);
  const at = (...places: number[]) => places.map((place) => String(all[place]?.id));

  await dismiss(gateway, 'many', at(0, 999, 1000, 2499));
  await eventually(async () => expect(await listUpdates()).toEqual(at(0, 999, 1000, 2499)));

  await sql(`update notification set status = 'resolved' where user_id = 'many' and id = any($1)`, [
    at(1, 1001, 2498),
  ]);
  const sweeping = await startTestGateway(settings, gateway.database);
  await eventually(async () => expect(await listUpdates()).toEqual(at(0, 1, 999, 1000, 1001, 2498, 2499)));
  await sweeping.close();
});

test('retention deletes deliveries with their notifications', async () => {
  const { id, other } = await publishTwo('retained');
  await dismiss(gateway, 'retained', [id, other]);
  await gateway.database.sql(
    `update notification set updated_at = now() - interval '31 days' where user_id = 'retained'`,
  );
  const retaining = await startTestGateway(
    { ...settings, NOTIFICATION_RETENTION_DAYS: '30' },
    gateway.database,
  );
  await eventually(async () => expect(await storedAfterEnd('retained', other)).toEqual([]));
  await retaining.close();

  // The dismissed plan is still an open request.
  expect(await storedAfterEnd('retained', id)).toHaveLength(3);
});
