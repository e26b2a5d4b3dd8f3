import { expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { notification, payloads, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const task = { id: 'task', projectId: 'project' };
const draft = (userId: string, given: object = {}) => notification(userId, 'task_failed', { task, ...given });
const publishAll = (...notifications: object[]) => as(platform).publishAll({ notifications });

/** Returns the notifications of users whose IDs have a prefix. */
const readRows = (prefix: string) =>
  gateway.database.sql(
    `select user_id, id, status, revision::int from notification where user_id like $1 || '%' order by 1, 4`,
    [prefix],
  );

test('stores notifications of several users in order, with one result each', async () => {
  const results = await publishAll(
    draft('order-b', { id: '1', title: 'B' }),
    draft('order-a', { id: '1', title: 'A', payload: payloads.plan_requested }),
    draft('order-b', { id: '2', payload: payloads.plan_requested }),
  );

  expect(results).toMatchObject([
    { created: true, notification: { id: '1', title: 'B', status: 'ACTIVE' } },
    { created: true, notification: { id: '1', title: 'A', status: 'ACTIVE' } },
    { created: true, notification: { id: '2', status: 'ACTIVE' } },
  ]);
  expect(results[0]?.channels).toEqual(['EMAIL', 'PUSH', 'CHAT_DM']);
  expect(await readRows('order-')).toEqual([
    { user_id: 'order-a', id: '1', status: 'active', revision: 1 },
    { user_id: 'order-b', id: '1', status: 'active', revision: 1 },
    { user_id: 'order-b', id: '2', status: 'active', revision: 2 },
  ]);
});

test('stores a notification as resolved if a later one of the batch supersedes it', async () => {
  const chain = ['first', 'second', 'third'].map((id) => draft('chain', { id }));
  expect(await publishAll(...chain)).toMatchObject([
    { notification: { id: 'first', status: 'RESOLVED', resolution: 'SUPERSEDED' } },
    { notification: { id: 'second', status: 'RESOLVED', resolution: 'SUPERSEDED' } },
    { notification: { id: 'third', status: 'ACTIVE' } },
  ]);
});

test('a repeated notification or batch changes nothing, and the stored one is returned', async () => {
  const drafts = ['a', 'b', 'a'].map((id) => draft('again', { id }));
  const first = await publishAll(...drafts);
  expect(first.map(({ created }) => created)).toEqual([true, true, false]);
  const before = await readRows('again');
  expect(before).toHaveLength(2);

  expect(await publishAll(...drafts)).toEqual(first.map((result) => ({ ...result, created: false })));
  expect(await readRows('again')).toEqual(before);
});

const many = (count: number) => Array.from({ length: count }, (_none, n) => draft('many', { id: `n-${n}` }));

test('accepts 0 to 100 notifications', async () => {
  expect(await publishAll()).toEqual([]);
  expect(await publishAll(...many(100))).toHaveLength(100);
});

const withoutPlan = { planRequested: { toolId: 't', input: { summary: 's' } } };

test.each<[what: string, drafts: object[], refusal: object]>([
  [
    'a conflict with a stored notification',
    [draft('all-b', { id: 'successor' }), draft('all-c'), draft('all-a', { id: 'taken' }), draft('all-d')],
    conflict('ID_REUSED', 'input.notifications[2].id'),
  ],
  [
    'a conflict within it',
    [draft('all-e', { id: 'a' }), draft('all-e', { id: 'a', title: 'Other' })],
    conflict('ID_REUSED', 'input.notifications[1].id'),
  ],
  [
    'an invalid notification',
    [draft('all-e'), draft('all-e', { payload: withoutPlan })],
    refused('VALIDATION_FAILED', 'input.notifications[1].payload.planRequested.input.plan'),
  ],
  [
    'more than 100 notifications',
    many(101).map((one) => ({ ...one, userId: 'all-f' })),
    refused('VALIDATION_FAILED', ['input.notifications', 'must have at most 100 items']),
  ],
])('refuses a whole batch for %s', async (_what, drafts, refusal) => {
  await publish(gateway, 'all-a', 'task_failed', { id: 'taken', title: 'Other', task });
  await publish(gateway, 'all-b', 'task_failed', { id: 'active', task });
  const before = await readRows('all-');

  await expect(publishAll(...drafts)).rejects.toMatchObject(refusal);
  expect(await readRows('all-')).toEqual(before);
});

test('each notification costs one point, and an empty batch costs one', async () => {
  const limited = await startTestGateway({ RATE_LIMIT_PLATFORM_PER_MINUTE: '6' }, gateway.database);
  const caller = limited.as(() => platform('platform:notifications'));
  const send = (count: number) =>
    caller.publishAll({ notifications: Array.from({ length: count }, () => draft('points')) });
  await send(3);
  await send(0);
  await send(2);
  await expect(send(1)).rejects.toMatchObject(refused('RATE_LIMITED'));
  await limited.close();
  expect(await readRows('points')).toHaveLength(5);
});
