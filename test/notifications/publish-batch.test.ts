import { describe, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { asPlatform, payloads, publish } from '../support/records.ts';
import { platform, signToken } from '../support/tokens.ts';

const gateway = useGateway();

const PUBLISH = `mutation ($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) {
    results { created channels notification { ... on UserNotification { id status resolution title } } }
  }
}`;

const draft = (userId: string, input: object = {}) => ({
  userId,
  task: { id: 'task', projectId: 'project' },
  title: 'T',
  payload: payloads.task_failed,
  ...input,
});

async function publishAll(notifications: object[]) {
  const data = await asPlatform(gateway, PUBLISH, { input: { notifications } });
  return data.publishNotifications.results;
}

async function expectError(notifications: object[]) {
  const token = await platform();
  const { data, errors } = await graphql(gateway, PUBLISH, { input: { notifications } }, { token });
  expect(data?.publishNotifications ?? null).toBeNull();
  expect(errors).toHaveLength(1);
  return errors[0].extensions;
}

/** Returns the notifications of users whose IDs have a prefix. */
const readRows = (prefix: string) =>
  gateway.database.sql(
    `select user_id, id, status, revision::int from notification where user_id like $1 || '%' order by 1, 4`,
    [prefix],
  );

test('stores notifications of several users in order, with one result each', async () => {
  const results = await publishAll([
    draft('order-b', { id: '1', title: 'B' }),
    draft('order-a', { id: '1', title: 'A', payload: payloads.plan_requested }),
    draft('order-b', { id: '2', payload: payloads.plan_requested }),
  ]);

  expect(results).toMatchObject([
    { created: true, notification: { id: '1', title: 'B', status: 'ACTIVE' } },
    { created: true, notification: { id: '1', title: 'A', status: 'ACTIVE' } },
    { created: true, notification: { id: '2', status: 'ACTIVE' } },
  ]);
  expect(results[0].channels).toEqual(['EMAIL', 'PUSH', 'CHAT_DM']);
  expect(await readRows('order-')).toEqual([
    { user_id: 'order-a', id: '1', status: 'active', revision: 1 },
    { user_id: 'order-b', id: '1', status: 'active', revision: 1 },
    { user_id: 'order-b', id: '2', status: 'active', revision: 2 },
  ]);
});

test('stores a notification as resolved if a later one of the batch supersedes it', async () => {
  const results = await publishAll(['first', 'second', 'third'].map((id) => draft('chain', { id })));
  expect(results.map(({ notification }: { notification: object }) => notification)).toMatchObject([
    { id: 'first', status: 'RESOLVED', resolution: 'SUPERSEDED' },
    { id: 'second', status: 'RESOLVED', resolution: 'SUPERSEDED' },
    { id: 'third', status: 'ACTIVE' },
  ]);
});

test('orders the notifications of a slot in time, whatever their order in the batch', async () => {
  const occurred = (second: number) =>
    draft('in-time', { id: `at-${second}`, occurredAt: `2026-01-05T08:00:0${second}.000Z` });
  const results = await publishAll([5, 3, 4, 6].map(occurred));

  expect(
    results.map(({ notification }: { notification: { status: string } }) => notification.status),
  ).toEqual(['RESOLVED', 'RESOLVED', 'RESOLVED', 'ACTIVE']);
});

test('a repeated batch changes nothing and returns the stored notifications', async () => {
  const notifications = [
    draft('again', { id: 'a' }),
    draft('again', { id: 'b' }),
    draft('again-too', { id: 'a' }),
  ];
  const first = await publishAll(notifications);
  const before = await readRows('again');

  const second = await publishAll(notifications);

  expect(second).toEqual(first.map((result: object) => ({ ...result, created: false })));
  expect(await readRows('again')).toEqual(before);
});

test('creates a duplicate within a batch only once', async () => {
  const results = await publishAll([draft('twice', { id: 'a' }), draft('twice', { id: 'a' })]);
  expect(results.map(({ created }: { created: boolean }) => created)).toEqual([true, false]);
  expect(await readRows('twice')).toHaveLength(1);
});

describe('rejects the whole batch on a conflict', () => {
  test('with a stored notification', async () => {
    await publish(gateway, 'all-a', 'task_failed', { id: 'taken', title: 'Other' });
    await publish(gateway, 'all-b', 'task_failed', draft('all-b', { id: 'active' }));
    const before = await readRows('all-');

    const extensions = await expectError([
      draft('all-b', { id: 'successor' }),
      draft('all-c'),
      draft('all-a', { id: 'taken' }),
      draft('all-d'),
    ]);

    expect(extensions).toMatchObject({
      code: 'CONFLICT',
      reason: 'ID_REUSED',
      errors: [
        {
          location: 'input.notifications[2].id',
          message: 'is taken by a notification with other content',
          value: 'taken',
        },
      ],
    });
    expect(await readRows('all-')).toEqual(before);
  });

  test('within the batch', async () => {
    const extensions = await expectError([
      draft('self', { id: 'a' }),
      draft('self', { id: 'a', title: 'Other' }),
    ]);
    expect(extensions).toMatchObject({
      code: 'CONFLICT',
      errors: [{ location: 'input.notifications[1].id', value: 'a' }],
    });
    expect(await readRows('self')).toEqual([]);
  });
});

test('reports the location of an invalid notification', async () => {
  const payload = { planRequested: { toolId: 't', input: { summary: 's' } } };
  expect(await expectError([draft('invalid'), draft('invalid', { payload })])).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.notifications[1].payload.planRequested.input.plan' }],
  });
  expect(await readRows('invalid')).toEqual([]);
});

test('accepts 0 to 100 notifications', async () => {
  expect(await publishAll([])).toEqual([]);
  const many = (count: number) =>
    Array.from({ length: count }, (_none, n) => draft('many', { id: `n-${n}` }));
  expect(await publishAll(many(100))).toHaveLength(100);
  expect(await expectError(many(101))).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.notifications', message: 'must have at most 100 items' }],
  });
});

test('concurrent batches for the same users in opposite orders all succeed', async () => {
  const users = Array.from({ length: 10 }, (_none, n) => `cross-${n}`);
  const calls = Array.from({ length: 20 }, (_none, n) =>
    publishAll((n % 2 === 0 ? users : users.toReversed()).map((user) => draft(user, { id: `n-${n}` }))),
  );
  await Promise.all(calls);
  expect(await readRows('cross-')).toHaveLength(200);
});

test('each notification costs one point, and an empty batch costs one', async () => {
  const limited = await startTestGateway({ RATE_LIMIT_PLATFORM_PER_MINUTE: '6' }, gateway.database);
  const token = await signToken({ sub: 'runner', scope: 'platform:notifications' });
  const send = async (count: number) => {
    const notifications = Array.from({ length: count }, () => draft('points'));
    const { status, headers } = await graphql(limited, PUBLISH, { input: { notifications } }, { token });
    return [status, headers.get('ratelimit-remaining')];
  };
  expect(await send(3)).toEqual([200, '3']);
  expect(await send(0)).toEqual([200, '2']);
  expect(await send(3)).toEqual([429, '0']);
  await limited.close();
  expect(await readRows('points')).toHaveLength(3);
});
