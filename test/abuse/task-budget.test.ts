import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { addTargets, listShown, unreachableProviders, untilEnded } from '../support/delivery.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, payloads, publish as publishAsPlatform } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { member, signTaskToken } from '../support/tokens.ts';

/*
 * A runner in a workspace publishes as much as it may, to fill the database and the chat of its user. What the user
 * answered stays.
 */

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });
const { sql } = {
  sql: (...query: Parameters<typeof gateway.database.sql>) => gateway.database.sql(...query),
};

type Input = Record<string, unknown>;

const failed = { payload: payloads.task_failed };
const plan = { payload: payloads.plan_requested };

/** Returns a function that publishes for a task of a user by its token, and returns the reply. */
async function createTask(userId: string, id = 't') {
  const token = await signTaskToken(userId, id);
  const query = `mutation ($input: PublishNotificationInput!) {
    publishNotification(input: $input) {
      created deliverByCaller notification { ... on UserNotification { id } }
    }
  }`;
  return async (input: Input) => {
    const complete = { userId, title: 'A title', task: { id, projectId: 'p' }, ...input };
    const { data, errors } = await graphql(gateway, query, { input: complete }, { token });
    const { extensions, message } = errors[0] ?? {};
    return {
      ...data?.publishNotification,
      ...extensions,
      message,
      id: data?.publishNotification?.notification.id,
    };
  };
}

const repeat = async <Result>(count: number, run: (index: number) => Promise<Result>): Promise<Result[]> => {
  const results: Result[] = [];
  for (let index = 1; index <= count; index += 1) results.push(await run(index));
  return results;
};

const listIds = async (userId: string) =>
  (await sql('select id from notification where user_id = $1 order by created_at, id', [userId])).map(
    ({ id }) => id,
  );

/** Lists how a notification is delivered, as `channel state reason`. */
const listDeliveries = async (userId: string, id: string) =>
  (await listShown(gateway, userId, id)).map(({ channel, state, reason }) =>
    [channel, state, reason].join(' '),
  );

/** Copies a notification with its deliveries, the n-th as if it was published and settled n hours earlier. */
async function copy(userId: string, id: string, count: number): Promise<void> {
  const time =
    "'created_at', created_at - n * interval '1 hour', 'updated_at', updated_at - n * interval '1 hour'";
  const from = (table: string, column: string, changes: string) =>
    sql(
      `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('${column}', $2 || '-' || n, ${changes}))).*
         from ${table} t, generate_series(1, $3::int) n where user_id = $1 and ${column} = $2`,
      [userId, id, count],
    );
  await from('notification', 'id', time);
  await from('delivery', 'notification_id', time);
}

test('stores 200 notifications of a task: the oldest settled ones give way, requests never', async () => {
  const publish = await createTask('alice');
  await addTargets(gateway, 'alice');
  const { id: other } = await publishAsPlatform(gateway, 'alice', 'task_failed', {
    task: { id: 't', projectId: 'p' },
  });
  await publish({ ...plan, id: 't:request' });
  await answer(gateway, 'alice', { id: 't:request', ...answers.approve });
  await publish({ ...failed, id: 't:first' });
  await publish({ ...failed, id: 't:second' });
  await copy('alice', 't:first', 197);
  const list = async () => ({
    notifications: await listIds('alice'),
    deliveries: (await sql(`select distinct notification_id from delivery where user_id = 'alice'`)).length,
    etag: (await rest(gateway, 'GET', '/user/notifications', { token: await member('alice') })).headers.get(
      'etag',
    ),
  });
  const before = await list();
  expect(before.notifications).toHaveLength(201);

  expect(await publish({ ...failed, id: 't:third' })).toMatchObject({ created: true });

  const after = await list();
  expect(before.notifications[0]).toBe('t:first-197');
  expect(after.notifications).toEqual([...before.notifications.slice(1), 't:third']);
  expect(after.deliveries).toBe(before.deliveries);
  expect(after.etag).not.toBe(before.etag);

  await sql(`delete from notification where user_id = 'alice' and id like 't:first%'`);
  await copy('alice', 't:request', 196);
  // An active notification, 197 requests, two notifications that were sent within the hour, and no room.
  expect(await publish({ ...failed, id: 't:fourth' })).toMatchObject({ created: true });
  for (const input of [failed, plan])
    expect(await publish(input)).toMatchObject({
      code: 'CONFLICT',
      reason: 'LIMIT_REACHED',
      message: 'The task has 200 notifications, which is the maximum, and none that may be removed.',
    });
  expect(await publish({ ...failed, id: 't:fourth' })).toMatchObject({ created: false });
  expect(await publish({ ...failed, id: 't:fourth', title: 'Another' })).toMatchObject({
    reason: 'ID_REUSED',
  });
  const full = await listIds('alice');
  expect(full).toHaveLength(201);
  expect(full).toEqual(expect.arrayContaining([other, 't:request', 't:request-196', 't:second', 't:third']));
  expect(await (await createTask('alice', 'another'))(plan)).toMatchObject({ created: true });

  await sql(`update notification set created_at = created_at - interval '1 hour' where user_id = 'alice'`);
  expect(await publish({ ...plan, id: 't:last' })).toMatchObject({ created: true });
  expect(await listIds('alice')).not.toContain('t:second');
  expect(await listIds('alice')).toEqual(expect.arrayContaining(['t:request', 't:request-196']));
});

test('sends 12 notifications and 30 requests of a task within an hour, and then stores them only', async () => {
  const publish = await createTask('bob');
  await addTargets(gateway, 'bob');
  const skipped = (reason: string) =>
    ['CHAT_DM', 'EMAIL', 'PUSH'].map((channel) => `${channel} SKIPPED ${reason}`);

  const notifications = await repeat(12, () => publish(failed));
  const requests = await repeat(30, () => publish(plan));
  await sql(`update delivery set state = 'delivered', receipt = 'C1:1' where user_id = 'bob' and is_open`);
  const more = [await publish(failed), await publish({ ...plan, id: 't:31' })];

  expect(
    await sql(
      `select count(distinct notification_id)::int as messages, count(*)::int from delivery where user_id = 'bob'`,
    ),
  ).toEqual([{ messages: 42, count: 42 * 3 }]);
  expect(await listDeliveries('bob', more[0]?.id)).toEqual(skipped('TASK_NOTIFICATIONS_PER_HOUR'));
  expect(await listDeliveries('bob', more[1]?.id)).toEqual(skipped('TASK_REQUESTS_PER_HOUR'));
  // The messages of what these superseded are updated.
  await untilEnded(gateway);
  for (const sent of [notifications[11], requests[29]]) {
    const update = `select distinct state, step from delivery where user_id = 'bob' and notification_id = $1`;
    expect(await sql(update, [sent?.id])).toEqual([{ state: 'pending', step: 'update' }]);
  }
  // Neither a repetition nor the removal of old notifications begins a new hour.
  expect(await publish({ ...plan, id: 't:31' })).toMatchObject({ created: false });
  await copy('bob', notifications[0]?.id, 160);
  await publish(failed);
  expect(await listDeliveries('bob', (await publish(failed)).id)).toEqual(
    skipped('TASK_NOTIFICATIONS_PER_HOUR'),
  );
  expect((await listIds('bob')).length).toBe(200);

  // Neither other tasks nor the platform are limited.
  const others = [
    await (await createTask('bob', 'another'))(failed),
    await publishAsPlatform(gateway, 'bob', 'task_failed', { task: { id: 't', projectId: 'p' } }),
  ];
  for (const { id } of others) expect(await listDeliveries('bob', id)).toContain('CHAT_DM PENDING ');
  await sql(`update notification set created_at = created_at - interval '1 hour' where user_id = 'bob'`);
  for (const input of [failed, plan])
    expect(await listDeliveries('bob', (await publish(input)).id)).toContain('CHAT_DM PENDING ');
});

test('a channel that was skipped stays so for a task, and the reason of the user comes first', async () => {
  const publish = await createTask('carol');
  const input = { ...failed, id: 't:1' };
  await publish(input);
  await addTargets(gateway, 'carol');

  expect(await publish(input)).toMatchObject({ created: false });
  expect(await listDeliveries('carol', 't:1')).toEqual(
    ['CHAT_DM', 'EMAIL', 'PUSH'].map((channel) => `${channel} SKIPPED NO_TARGET`),
  );

  const query =
    'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';
  await asMember(gateway, 'carol', query, { input: { preferences: [{ emailEnabled: false }] } });
  const last = (await repeat(13, () => publish(failed))).at(-1);
  expect(last).toMatchObject({ deliverByCaller: [] });
  expect(await listDeliveries('carol', last?.id)).toEqual([
    'CHAT_DM SKIPPED TASK_NOTIFICATIONS_PER_HOUR',
    'EMAIL SKIPPED CHANNEL_DISABLED',
    'PUSH SKIPPED TASK_NOTIFICATIONS_PER_HOUR',
  ]);
});

test.each<[what: string, input: (text: string) => Input, location: string, max: number]>([
  [
    'a payload that asks for nothing',
    (message) => ({ payload: { taskFailed: { taskStatus: 'ERRORED', message } } }),
    'input.payload',
    16_384,
  ],
  [
    'a request as a whole',
    (text) => ({
      previewText: 'ü'.repeat(4500),
      payload: { planRequested: { toolId: 'tool', input: { summary: text, plan: '' } } },
    }),
    'input',
    73_728,
  ],
])('rejects %s that is too large, and names size and limit', async (_what, input, location, max) => {
  const publish = await createTask('dave');
  const message = /^must have at most (\d+) bytes as JSON, and has (\d+)$/;
  const measure = (text: string) => publish(input(text));

  const length = Math.min(max, 65_000);
  const refused = await measure('x'.repeat(length));
  const [, limit, size] = message.exec(refused.errors[0].message) ?? [];
  const fitting = length - (Number(size) - max);

  expect(refused.errors.map((error: { location: string }) => error.location)).toEqual([location]);
  expect(Number(limit)).toBe(max);
  expect((await measure('x'.repeat(fitting + 1))).errors).toMatchObject([
    { location, message: expect.stringContaining(`has ${max + 1}`) },
  ]);
  expect(await measure('x'.repeat(fitting))).toMatchObject({ created: true });
});

test('accepts no default of a request', async () => {
  const publish = await createTask('erin');
  for (const decision of ['APPROVE', 'REJECT']) {
    const onExpiry = { plan: { decision } };
    expect(await publish({ ...plan, expiresInSeconds: 60, onExpiry })).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ location: 'input.onExpiry', message: 'must be omitted for a task token' }],
    });
  }
});
