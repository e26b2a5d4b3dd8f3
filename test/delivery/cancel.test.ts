import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
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
import { asMember, deleteUser, publish, resolve } from '../support/records.ts';

const encryptionKey = randomBytes(32);
const settings = {
  ...unreachableProviders,
  DELIVERY: 'false',
  ENCRYPTION_KEYS: `k1:${encryptionKey.toString('base64')}`,
};
const gateway = useGateway(settings);

const pending = ['chat pending', 'email pending', 'push pending'];
const settled = ['chat cancelled settled', 'email cancelled settled', 'push cancelled settled'];
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

async function updatePreferences(userId: string, preference: object): Promise<void> {
  const query =
    'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';
  await asMember(gateway, userId, query, { input: { preferences: [preference] } });
}

describe('settling a notification', () => {
  const dismissOne = (userId: string, id: string) =>
    asMember(
      gateway,
      userId,
      'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }',
      { id },
    );
  const publishIn = (userId: string, task: string) =>
    publish(gateway, userId, 'plan_requested', inTask(task));

  test.each<[string, (userId: string, id: string) => Promise<unknown>]>([
    ['dismissing it', dismissOne],
    ['dismissing several by their IDs', (userId, id) => dismissBy(gateway, userId, { ids: [id, 'unknown'] })],
    [
      'dismissing those of a kind',
      async (userId) =>
        dismissBy(gateway, userId, {
          filter: {
            kinds: ['PLAN_REQUESTED'],
            openRequests: true,
            upTo: await currentCursor(gateway, userId),
          },
        }),
    ],
    [
      'dismissing those of a project',
      async (userId) =>
        dismissBy(gateway, userId, {
          filter: {
            projectIds: ['project-a'],
            openRequests: true,
            upTo: await currentCursor(gateway, userId),
          },
        }),
    ],
    ['resolving its task', (userId) => resolve(gateway, userId, 'a')],
    [
      'resolving its task until now',
      (userId) => resolve(gateway, userId, 'a', 'ANSWERED_ELSEWHERE', new Date().toISOString()),
    ],
  ])('%s cancels the deliveries of this notification only', async (name, settle) => {
    const userId = name.replaceAll(/\W/g, '-');
    const { id, other } = await publishTwo(userId);
    const bystander = `${userId}-bystander`;
    await publishTwo(bystander);
    await settle(userId, id);

    expect(await stored(userId, id)).toEqual(settled);
    expect(await stored(userId, other)).toEqual(pending);
    expect(await stored(bystander)).toEqual([...pending, ...pending].sort());
  });

  test('publishing its successor cancels the deliveries of this notification only', async () => {
    const { id, other } = await publishTwo('superseded');
    const successor = await publishIn('superseded', 'a');

    expect(await stored('superseded', id)).toEqual(settled);
    expect(await stored('superseded', other)).toEqual(pending);
    expect(await stored('superseded', successor.id)).toEqual(pending);
  });

  test('resolving until a time cancels only the deliveries of notifications that occurred before', async () => {
    const { id } = await publishTwo('resolved-before');
    await resolve(
      gateway,
      'resolved-before',
      'a',
      'ANSWERED_ELSEWHERE',
      new Date(Date.now() - 60_000).toISOString(),
    );

    expect(await stored('resolved-before', id)).toEqual(pending);
  });

  test('dismissing it again changes no delivery', async () => {
    const { id } = await publishTwo('dismissed-twice');
    await dismissOne('dismissed-twice', id);
    const read = async () => {
      await untilEnded(gateway);
      return gateway.database.sql(`select * from delivery where user_id = 'dismissed-twice'`);
    };
    const before = await read();
    await dismissOne('dismissed-twice', id);

    expect(await read()).toEqual(before);
  });

  test('does not cancel sent or failed deliveries, and updates a message that can be changed', async () => {
    const { id } = await publishTwo('sent');
    const set = (channel: string, changes: string) =>
      gateway.database.sql(
        `update delivery set ${changes} where user_id = 'sent' and notification_id = $1 and channel = $2`,
        [id, channel],
      );
    await set('email', `state = 'delivered', is_open = false`);
    await set('push', `state = 'failed', is_open = false, reason = 'expired'`);
    await set('chat', `state = 'delivered', receipt = 'D1 1.0', due_at = now() + interval '1 h'`);
    await dismissOne('sent', id);

    expect(await stored('sent', id)).toEqual(['chat pending', 'email delivered', 'push failed expired']);
    const [chat] = await gateway.database.sql(
      `select step, is_open, due_at <= now() as is_due from delivery
        where user_id = 'sent' and notification_id = $1 and channel = 'chat'`,
      [id],
    );
    expect(chat).toEqual({ step: 'update', is_open: false, is_due: true });
  });
});

describe('disabling a channel', () => {
  test.each([
    ['email', { emailEnabled: false, pushEnabled: true, chatDmEnabled: true }],
    ['push', { emailEnabled: true, pushEnabled: false, chatDmEnabled: true }],
    ['chat', { emailEnabled: true, pushEnabled: true, chatDmEnabled: false }],
  ])('cancels the deliveries over %s for one kind', async (channel, channels) => {
    const userId = `disable-${channel}`;
    const { id, other } = await publishTwo(userId);
    await updatePreferences(userId, { notificationKind: 'PLAN_REQUESTED', ...channels });

    expect(await stored(userId, id)).toEqual(
      pending.map((row) => (row.startsWith(channel) ? `${channel} cancelled channel_disabled` : row)),
    );
    expect(await stored(userId, other)).toEqual(pending);
  });

  test('cancels the deliveries of all kinds', async () => {
    const { id, other } = await publishTwo('disable-all');
    await updatePreferences('disable-all', { emailEnabled: true, pushEnabled: true, chatDmEnabled: false });

    const rows = ['chat cancelled channel_disabled', 'email pending', 'push pending'];
    expect(await stored('disable-all', id)).toEqual(rows);
    expect(await stored('disable-all', other)).toEqual(rows);
  });

  test('does not cancel sent deliveries', async () => {
    await publishTwo('disable-late');
    await gateway.database.sql(
      `update delivery set state = 'delivered', receipt = 'D1 1.0' where user_id = 'disable-late' and channel = 'chat'`,
    );
    await updatePreferences('disable-late', { emailEnabled: true, pushEnabled: true, chatDmEnabled: false });

    expect(await stored('disable-late')).toEqual([
      'chat delivered',
      'chat delivered',
      'email pending',
      'email pending',
      'push pending',
      'push pending',
    ]);
  });

  test('with the unsubscribe link of a kind cancels only the email of this kind', async () => {
    const { id, other } = await publishTwo('unsubscribe');
    const tokens = createUnsubscribeTokens(new Map([['k1', createSecretKey(encryptionKey)]]));
    const url = toUnsubscribeUrl(
      gateway.address,
      tokens.sign({ userId: 'unsubscribe', kind: 'plan_requested' }),
    );
    expect((await fetch(url, { method: 'POST' })).status).toBe(200);

    expect(await stored('unsubscribe', id)).toEqual([
      'chat pending',
      'email cancelled channel_disabled',
      'push pending',
    ]);
    expect(await stored('unsubscribe', other)).toEqual(pending);
  });
});

describe('removing a target', () => {
  test('cancels the deliveries to a removed address or chat member', async () => {
    const { id } = await publishTwo('remove-target');
    await putContact(gateway, 'remove-target', { chatMemberId: 'U-remove-target' });
    expect(await stored('remove-target', id)).toEqual([
      'chat pending',
      'email cancelled target_removed',
      'push pending',
    ]);

    await putContact(gateway, 'remove-target', {});
    expect(await stored('remove-target', id)).toEqual([
      'chat cancelled target_removed',
      'email cancelled target_removed',
      'push pending',
    ]);
  });

  test('does not cancel deliveries if the target is replaced', async () => {
    const { id } = await publishTwo('replace-target');
    await putContact(gateway, 'replace-target', { email: 'new@example.com', chatMemberId: 'U-NEW' });

    expect(await stored('replace-target', id)).toEqual(pending);
  });

  const REMOVE = 'mutation ($id: ID!) { removePushSubscription(input: { id: $id }) { removed } }';

  test('cancels the deliveries to a removed push subscription, and to no other', async () => {
    const first = await addTargets(gateway, 'remove-push');
    const second = await registerPush(gateway, 'remove-push', 'https://push.example.com/kept');
    await publish(gateway, 'remove-push');
    await asMember(gateway, 'remove-push', REMOVE, { id: first });
    await untilEnded(gateway);

    const rows = await gateway.database.sql(
      `select target, state, reason from delivery where user_id = 'remove-push' and channel = 'push'`,
    );
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({ target: first, state: 'cancelled', reason: 'target_removed' });
    expect(rows).toContainEqual({ target: second, state: 'pending', reason: null });
  });

  test('cancels the deliveries to a push subscription that another user registers', async () => {
    const { id } = await publishTwo('lends');
    await registerPush(gateway, 'borrows', 'https://push.example.com/lends');

    expect(await stored('lends', id)).toEqual([
      'chat pending',
      'email pending',
      'push cancelled target_removed',
    ]);
    await publish(gateway, 'borrows');
    expect(await stored('borrows')).toEqual(['push pending']);
  });

  test('does not cancel deliveries if the user registers a push subscription again', async () => {
    const { id } = await publishTwo('registers-again');
    await registerPush(gateway, 'registers-again', 'https://push.example.com/registers-again');

    expect(await stored('registers-again', id)).toEqual(pending);
  });
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
  expect(await stored('retained')).toEqual(settled);
  expect(await stored('retained', id)).toEqual(settled);
});
