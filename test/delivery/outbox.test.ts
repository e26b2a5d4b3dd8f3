import { describe, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import {
  addTargets,
  listStored,
  putContact,
  registerPush,
  unreachableProviders,
  untilEnded,
} from '../support/delivery.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { asMember, asPlatform, payloads, publish, resolve } from '../support/records.ts';
import { makeExpired } from '../support/requests.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });

const PUBLISH = `mutation ($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) {
    results { created channels deliverByCaller notification { ... on UserNotification { id } } }
  }
}`;

const draft = (userId: string, id: string, input: object = {}) => ({
  userId,
  id,
  task: { id: 'task', projectId: 'project' },
  title: 'T',
  payload: payloads.task_failed,
  ...input,
});

async function publishAll(notifications: object[], at = gateway) {
  const data = await asPlatform(at, PUBLISH, { input: { notifications } });
  return data.publishNotifications.results;
}

async function updatePreferences(userId: string, preferences: object[]): Promise<void> {
  const query =
    'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';
  await asMember(gateway, userId, query, { input: { preferences } });
}

const stored = (userId: string, id?: string) => listStored(gateway.database, userId, id);

describe('publishing queues', () => {
  test('a delivery for each channel, and each of several push subscriptions', async () => {
    const first = await addTargets(gateway, 'several');
    const second = await registerPush(gateway, 'several', 'https://push.example.com/second');
    await addTargets(gateway, 'other');
    const { id } = await publish(gateway, 'several');

    const rows = await gateway.database.sql(
      'select notification_id, channel, target, state, step, is_open, claims, attempts, reason from delivery',
    );
    const row = { state: 'pending', step: 'message', is_open: true, claims: 0, attempts: 0, reason: null };
    const targets = [
      ['email', ''],
      ['chat', ''],
      ['push', first],
      ['push', second],
    ];
    expect(rows).toHaveLength(4);
    expect(rows).toEqual(
      expect.arrayContaining(
        targets.map(([channel, target]) => ({ ...row, notification_id: id, channel, target })),
      ),
    );
  });

  test('nothing for a user without targets, and only existing targets', async () => {
    await publish(gateway, 'unreachable');
    await putContact(gateway, 'mail-only', { email: 'mail-only@example.com' });
    await publish(gateway, 'mail-only');
    await putContact(gateway, 'chat-only', { chatMemberId: 'U-chat-only' });
    await publish(gateway, 'chat-only');
    await registerPush(gateway, 'push-only', 'https://push.example.com/push-only');
    await publish(gateway, 'push-only');

    expect(await stored('unreachable')).toEqual([]);
    expect(await stored('mail-only')).toEqual(['email pending']);
    expect(await stored('chat-only')).toEqual(['chat pending']);
    expect(await stored('push-only')).toEqual(['push pending']);
  });

  test('nothing for a suspended target', async () => {
    await addTargets(gateway, 'suspended');
    await gateway.database.sql(
      `update contact set email_suspended_at = now(), chat_suspended_at = now() where user_id = 'suspended'`,
    );
    await publish(gateway, 'suspended');

    expect(await stored('suspended')).toEqual(['push pending']);
  });

  test.each([
    ['email', { emailEnabled: false, pushEnabled: true, chatDmEnabled: true }, ['chat', 'push']],
    ['push', { emailEnabled: true, pushEnabled: false, chatDmEnabled: true }, ['chat', 'email']],
    ['chat', { emailEnabled: true, pushEnabled: true, chatDmEnabled: false }, ['email', 'push']],
    ['all channels', { emailEnabled: false, pushEnabled: false, chatDmEnabled: false }, []],
  ])('only enabled channels if the preferences of the kind disable %s', async (name, channels, queued) => {
    const userId = `disabled-${name.replaceAll(' ', '-')}`;
    await addTargets(gateway, userId);
    await updatePreferences(userId, [{ notificationKind: 'PLAN_REQUESTED', ...channels }]);
    const { id } = await publish(gateway, userId, 'plan_requested');
    const other = await publish(gateway, userId, 'task_failed');

    expect(await stored(userId, id)).toEqual(queued.map((channel) => `${channel} pending`));
    expect(await stored(userId, other.id)).toHaveLength(3);
  });

  test('nothing for a notification that is stored as resolved', async () => {
    await addTargets(gateway, 'resolved');
    const task = { id: 'task', projectId: 'project' };
    await resolve(gateway, 'resolved', 'task', 'ANSWERED_ELSEWHERE', new Date().toISOString());
    const occurredAt = new Date(Date.now() - 60_000).toISOString();
    await publish(gateway, 'resolved', 'plan_requested', { task, occurredAt });
    expect(await stored('resolved')).toEqual([]);

    const { id } = await publish(gateway, 'resolved', 'task_failed', { task: { ...task, id: 'another' } });
    await publish(gateway, 'resolved', 'task_failed', { task: { ...task, id: 'another' }, occurredAt });
    expect(await stored('resolved')).toEqual(await stored('resolved', id));
    expect(await stored('resolved', id)).toHaveLength(3);
  });

  test('nothing again when a publication is repeated, whatever the state of the first deliveries', async () => {
    await addTargets(gateway, 'repeated');
    const first = draft('repeated', 'n-1');
    await publishAll([first]);
    await gateway.database.sql(
      `update delivery set state = 'delivered', attempts = 1 where user_id = 'repeated' and channel = 'push'`,
    );
    const [repeated] = await publishAll([first]);

    expect(repeated.created).toBe(false);
    expect(await stored('repeated')).toEqual(['chat pending', 'email pending', 'push delivered']);
  });

  test('nothing when a publication is repeated after more than a day', async () => {
    const old = draft('late', 'n-1');
    await publishAll([old]);
    await gateway.database.sql(
      `update notification set created_at = now() - interval '25 h' where user_id = 'late'`,
    );
    await addTargets(gateway, 'late');
    const [repeated] = await publishAll([old]);

    expect(repeated.created).toBe(false);
    expect(await stored('late')).toEqual([]);
  });

  test('email after its delay, and the other channels at once', async () => {
    const delayed = await startTestGateway(
      { ...unreachableProviders, DELIVERY: 'false', DELIVERY_EMAIL_DELAY_SECONDS: '7' },
      gateway.database,
    );
    await addTargets(gateway, 'delayed');
    await publish(delayed, 'delayed');
    await delayed.close();

    const rows = await gateway.database.sql(
      `select channel, extract(epoch from due_at - updated_at)::int as delay,
              extract(epoch from expires_at - created_at)::int as lifetime
         from delivery where user_id = 'delayed' order by 1`,
    );
    expect(rows).toEqual([
      { channel: 'chat', delay: 0, lifetime: 86_400 },
      { channel: 'email', delay: 7, lifetime: 86_400 },
      { channel: 'push', delay: 0, lifetime: 86_400 },
    ]);
  });
});

describe('a batch', () => {
  test('queues only the last of several notifications of a task, and cancels the earlier one', async () => {
    await addTargets(gateway, 'batch');
    await publishAll([
      draft('batch', 'before'),
      draft('batch', 'other', { task: { id: 'b', projectId: 'p' } }),
    ]);
    await publishAll([
      draft('batch', 'n-1'),
      draft('batch', 'another-kind', { payload: payloads.plan_requested }),
      draft('batch', 'n-2'),
      draft('batch', 'n-3'),
    ]);
    await untilEnded(gateway);

    const cancelled = ['chat cancelled settled', 'email cancelled settled', 'push cancelled settled'];
    const pending = ['chat pending', 'email pending', 'push pending'];
    expect(await stored('batch', 'before')).toEqual(cancelled);
    expect(await stored('batch', 'n-1')).toEqual([]);
    expect(await stored('batch', 'n-2')).toEqual([]);
    expect(await stored('batch', 'n-3')).toEqual(pending);
    expect(await stored('batch', 'another-kind')).toEqual(pending);
    expect(await stored('batch', 'other')).toEqual(pending);
  });

  test('cancels the earlier notification of a task, even if it has no notifications of other tasks', async () => {
    for (const count of [1, 2, 3]) {
      const userId = `chain-${count}`;
      await addTargets(gateway, userId);
      await publishAll([draft(userId, 'before')]);
      await publishAll(Array.from({ length: count }, (_none, index) => draft(userId, `n-${index}`)));
      await untilEnded(gateway);

      expect(new Set(await stored(userId, 'before'))).toEqual(
        new Set(['chat cancelled settled', 'email cancelled settled', 'push cancelled settled']),
      );
      expect(await stored(userId)).toHaveLength(6);
    }
  });

  test('queues the deliveries of several users', async () => {
    await addTargets(gateway, 'batch-a');
    await putContact(gateway, 'batch-b', { chatMemberId: 'U-batch-b' });
    // The same notification ID twice: notifications are identified by user and ID.
    await publishAll([draft('batch-a', 'same'), draft('batch-b', 'same'), draft('batch-c', 'same')]);

    expect(await stored('batch-a')).toEqual(['chat pending', 'email pending', 'push pending']);
    expect(await stored('batch-b')).toEqual(['chat pending']);
    expect(await stored('batch-c')).toEqual([]);
  });

  test('queues and cancels nothing if it is rolled back', async () => {
    await addTargets(gateway, 'conflict');
    await publishAll([draft('conflict', 'taken')]);
    const { errors } = await graphql(
      gateway,
      PUBLISH,
      {
        input: {
          notifications: [
            draft('conflict', 'new'),
            draft('conflict', 'elsewhere', { task: { id: 'b', projectId: 'p' } }),
            draft('conflict', 'taken', { title: 'Another title' }),
          ],
        },
      },
      { token: await platform() },
    );

    expect(errors[0].extensions.code).toBe('CONFLICT');
    expect(await stored('conflict')).toEqual(['chat pending', 'email pending', 'push pending']);
    expect(await stored('conflict', 'taken')).toHaveLength(3);
  });
});

describe('deliverByCaller', () => {
  const all = ['EMAIL', 'PUSH', 'CHAT_DM'];
  const one = { CHAT_TOKEN: unreachableProviders.CHAT_TOKEN, DELIVERY: 'false' };

  /** Runs `work` with a gateway that has only some providers. */
  async function withProviders<Result>(
    settings: Record<string, string>,
    work: (other: TestGateway) => Promise<Result>,
  ) {
    const other = await startTestGateway(settings, gateway.database);
    try {
      return await work(other);
    } finally {
      await other.close();
    }
  }

  test('is empty if every enabled channel has a provider, whether or not the user has targets', async () => {
    const [first] = await publishAll([draft('by-gateway', 'n-1')]);
    expect(first).toMatchObject({ channels: all, deliverByCaller: [] });

    await updatePreferences('by-gateway', [{ emailEnabled: true, pushEnabled: false, chatDmEnabled: true }]);
    const [some] = await publishAll([draft('by-gateway', 'n-2')]);
    expect(some).toMatchObject({ channels: ['EMAIL', 'CHAT_DM'], deliverByCaller: [] });
  });

  test.each([
    ['no provider', {}, all, []],
    ['one provider', one, ['EMAIL', 'PUSH'], ['chat pending']],
  ])(
    'with %s, lists the other channels, and nothing is queued for them',
    async (name, settings, left, rows) => {
      const userId = name.replace(' ', '-');
      await addTargets(gateway, userId);
      const [published] = await withProviders(settings, (other) => publishAll([draft(userId, 'n-1')], other));

      expect(published).toMatchObject({ channels: all, deliverByCaller: left });
      expect(await stored(userId)).toEqual(rows);
    },
  );

  test('does not list a disabled channel', async () => {
    await updatePreferences('caller-some', [{ emailEnabled: false, pushEnabled: true, chatDmEnabled: true }]);
    const [published] = await withProviders({}, (other) => publishAll([draft('caller-some', 'n-1')], other));
    expect(published).toMatchObject({
      channels: ['PUSH', 'CHAT_DM'],
      deliverByCaller: ['PUSH', 'CHAT_DM'],
    });
  });

  test('is the same for a repeat, even if preferences and providers have changed', async () => {
    await addTargets(gateway, 'caller-again');
    const input = draft('caller-again', 'n-1');
    await withProviders(one, (other) => publishAll([input], other));
    await updatePreferences('caller-again', [
      { emailEnabled: false, pushEnabled: true, chatDmEnabled: true },
    ]);
    const [repeated] = await publishAll([input]);

    expect(repeated).toMatchObject({ created: false, channels: all, deliverByCaller: ['EMAIL', 'PUSH'] });
    // The gateway does not send over channels that it has left to the caller.
    expect(await stored('caller-again')).toEqual(['chat pending']);
  });

  test('is empty for a notification that is no longer active', async () => {
    const input = draft('caller-settled', 'n-1');
    const [superseded, dismissed, late] = await withProviders({}, async (other) => {
      await publishAll([input], other);
      await publishAll([draft('caller-settled', 'n-2')], other);
      const repeat = async (id: string) => (await publishAll([draft('caller-settled', id)], other))[0];
      const first = await repeat('n-1');
      await dismiss(gateway, 'caller-settled', ['n-2']);
      const occurredAt = new Date(Date.now() - 60_000).toISOString();
      return [
        first,
        await repeat('n-2'),
        (await publishAll([draft('caller-settled', 'n-3', { occurredAt })], other))[0],
      ];
    });
    expect(superseded).toMatchObject({ created: false, channels: all, deliverByCaller: [] });
    expect(dismissed).toMatchObject({ created: false, channels: all, deliverByCaller: [] });
    expect(late).toMatchObject({ created: true, channels: all, deliverByCaller: [] });
  });

  test('is empty for a request that has expired, even if nothing has stored that yet', async () => {
    const expiring = draft('caller-expired', 'n-1', {
      payload: payloads.plan_requested,
      expiresInSeconds: 600,
    });
    const [repeated] = await withProviders({}, async (other) => {
      await publishAll([expiring], other);
      await makeExpired(gateway.database, 'caller-expired', 'n-1');
      return publishAll([expiring], other);
    });
    expect(repeated).toMatchObject({ created: false, channels: all, deliverByCaller: [] });
  });

  test('is empty for a repeat more than 24 hours after the publication', async () => {
    const input = draft('caller-late', 'n-1');
    const [recent, old] = await withProviders({}, async (other) => {
      await publishAll([input], other);
      const age = (interval: string) =>
        gateway.database.sql(
          `update notification set created_at = now() - interval '${interval}' where user_id = 'caller-late'`,
        );
      await age('23 h 59 min');
      const [before] = await publishAll([input], other);
      await age('24 h 1 min');
      return [before, (await publishAll([input], other))[0]];
    });
    expect(recent.deliverByCaller).toEqual(all);
    expect(old).toMatchObject({ created: false, deliverByCaller: [] });
  });

  test('has a result of its own for each notification of a batch', async () => {
    await updatePreferences('caller-b', [
      { notificationKind: 'TASK_FAILED', emailEnabled: false, pushEnabled: false, chatDmEnabled: true },
    ]);
    const results = await withProviders(one, (other) =>
      publishAll([draft('caller-a', 'n'), draft('caller-b', 'n')], other),
    );
    expect(results.map(({ deliverByCaller }: { deliverByCaller: string[] }) => deliverByCaller)).toEqual([
      ['EMAIL', 'PUSH'],
      [],
    ]);
  });
});
