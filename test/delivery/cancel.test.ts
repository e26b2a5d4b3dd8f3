import { createSecretKey, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createUnsubscribeTokens, toUnsubscribeUrl } from '../../src/delivery/email/unsubscribe-token.ts';
import {
  addTargets,
  listStored,
  putContact,
  registerPush,
  unreachableProviders,
  untilEnded,
} from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, dismissBy } from '../support/inbox.ts';
import { deleteUser, publish, resolve } from '../support/records.ts';

const encryptionKey = randomBytes(32);
const settings = {
  ...unreachableProviders,
  DELIVERY: 'false',
  ENCRYPTION_KEYS: `k1:${encryptionKey.toString('base64')}`,
};
const gateway = useGateway(settings);
const { as } = gateway;
const { sign } = createUnsubscribeTokens(new Map([['k1', createSecretKey(encryptionKey)]]));

const inTask = (id: string) => ({ task: { id, projectId: `project-${id}` } });

/** Lists the deliveries of a user after those that are no longer wanted were ended. */
async function stored(userId: string, id?: string): Promise<unknown[]> {
  await untilEnded(gateway);
  return listStored(gateway.database, userId, id);
}

/** Publishes a notification with a target in each channel, and another of another task and kind. */
async function publishTwo(userId: string): Promise<{ id: string; other: string }> {
  await addTargets(gateway, userId);
  const { id } = await publish(gateway, userId, 'plan_requested', inTask('a'));
  const other = await publish(gateway, userId, 'task_failed', inTask('b'));
  return { id, other: other.id };
}

type Filter = { kinds?: string[]; projectIds?: string[] };
const dismissThose = async (userId: string, filter: Filter) => {
  const upTo = await currentCursor(gateway, userId);
  await dismissBy(gateway, userId, { filter: { ...filter, openRequests: true, upTo } });
};
const setPreference = (userId: string, preference: object) =>
  as(userId).updatePreferences({ preferences: [preference] });
const ofPlans = { notificationKind: 'PLAN_REQUESTED' };

/** States of chat, email and push: pending, or cancelled for a reason. */
const pending = 'pending pending pending';
const settled = 'settled settled settled';

test.each<[what: string, change: (userId: string, id: string) => unknown, its: string, others?: string]>([
  ['dismissing it', (user, id) => as(user).dismiss({ id }), settled],
  ['dismissing several', (user, id) => dismissBy(gateway, user, { ids: [id, 'unknown'] }), settled],
  ['dismissing those of a kind', (user) => dismissThose(user, { kinds: ['PLAN_REQUESTED'] }), settled],
  ['dismissing those of a project', (user) => dismissThose(user, { projectIds: ['project-a'] }), settled],
  ['resolving its task', (user) => resolve(gateway, user, 'a'), settled],
  ['its successor', (user) => publish(gateway, user, 'plan_requested', inTask('a')), settled],
  [
    'disabling email for its kind',
    (user) => setPreference(user, { ...ofPlans, emailEnabled: false }),
    'pending channel_disabled pending',
  ],
  [
    'disabling push for its kind',
    (user) => setPreference(user, { ...ofPlans, pushEnabled: false }),
    'pending pending channel_disabled',
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
    'removing the address',
    (user) => putContact(gateway, user, { chatMemberId: 'U-1' }),
    'pending target_removed pending',
    'pending target_removed pending',
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
  expect(await stored(userId, id)).toEqual(list(its));
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

  expect(await stored('sent', id)).toEqual(['chat pending', 'email delivered', 'push failed expired']);
  const read = () => gateway.database.sql(`select * from delivery where user_id = 'sent'`);
  const rows = await read();
  const chat = rows.find(({ channel, notification_id }) => channel === 'chat' && notification_id === id);
  expect(chat).toMatchObject({ step: 'update', is_open: false });
  expect(Number(chat?.due_at)).toBeLessThanOrEqual(Date.now());
  // Neither a repeat nor a disabled channel changes a sent delivery.
  await as('sent').dismiss({ id });
  await setPreference('sent', { chatDmEnabled: false });
  expect(await stored('sent', other)).toContain('chat delivered');
  expect(await read()).toEqual(rows);
});

test('deleting a user deletes the deliveries', async () => {
  await publishTwo('deleted');
  await publishTwo('kept');
  await deleteUser(gateway, 'deleted');

  expect(await stored('deleted')).toEqual([]);
  expect(await stored('kept')).toHaveLength(6);
});

test('retention deletes deliveries with their notifications', async () => {
  const { id, other } = await publishTwo('retained');
  await dismissBy(gateway, 'retained', { ids: [id, other] });
  await gateway.database.sql(
    `update notification set updated_at = now() - interval '31 days' where user_id = 'retained'`,
  );
  const retaining = await startTestGateway(
    { ...settings, NOTIFICATION_RETENTION_DAYS: '30' },
    gateway.database,
  );
  await eventually(async () => expect(await stored('retained', other)).toEqual([]));
  await retaining.close();

  // The dismissed plan is still an open request.
  expect(await stored('retained', id)).toHaveLength(3);
});
