import { expect, test } from 'vitest';
import { conflict, type Given, refused } from '../support/as.ts';
import type { TestDatabase } from '../support/database.ts';
import { addTargets, listShown, unreachableProviders, untilEnded } from '../support/delivery.ts';
import { useGateway } from '../support/gateway.ts';
import type { PublishNotificationInput } from '../support/generated/types.ts';
import { dismiss } from '../support/inbox.ts';
import { payloads, publish as publishAsPlatform } from '../support/records.ts';
import { answer, answers, awaitRequest, makeExpired } from '../support/requests.ts';
import { platform, signTaskToken } from '../support/tokens.ts';

/*
 * A runner in a workspace publishes as much as it may, to fill the database and the chat of its user. What the user
 * answered stays.
 */

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });
const sql: TestDatabase['sql'] = (...query) => gateway.database.sql(...query);

type Input = Given<PublishNotificationInput>;

const failed = { payload: payloads.task_failed };
const plan = { payload: payloads.plan_requested };
/** The task that the platform and the runner publish for. */
const task = { id: 't', projectId: 'p' };

/** Returns a function that publishes for a task of a user by its token. */
function createTask(userId: string, id = 't') {
  const runner = gateway.as(() => signTaskToken(userId, id));
  return (given: Input) => runner.publish({ userId, title: 'A title', task: { ...task, id }, ...given });
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

const toId = ({ notification }: { notification: { id: string } }) => notification.id;

/** Lists how a notification is delivered, as `channel state reason`. */
const listDeliveries = async (userId: string, id = '') =>
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

test('stores 200 notifications of a task: the oldest settled ones give way, answered ones never', async () => {
  const publish = createTask('alice');
  await addTargets(gateway, 'alice');
  const { id: other } = await publishAsPlatform(gateway, 'alice', 'task_failed', { task });
  await publish({ ...plan, id: 't:request' });
  await answer(gateway, 'alice', { id: 't:request', ...answers.approve });
  await publish({ ...failed, id: 't:first' });
  await publish({ ...failed, id: 't:second' });
  await copy('alice', 't:first', 197);
  const list = async () => ({
    notifications: await listIds('alice'),
    deliveries: (await sql(`select distinct notification_id from delivery where user_id = 'alice'`)).length,
    etag: (await gateway.as('alice').rest.get('/user/notifications')).headers.get('etag'),
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
  for (const input of [failed, plan]) {
    const publishing = expect(publish(input)).rejects;
    await publishing.toMatchObject(conflict('LIMIT_REACHED'));
    await publishing.toThrow(
      'The task has 200 notifications, which is the maximum, and none that may be removed. Open, active and answered ones stay, the others for an hour.',
    );
  }
  expect(await publish({ ...failed, id: 't:fourth' })).toMatchObject({ created: false });
  const reused = publish({ ...failed, id: 't:fourth', title: 'Another' });
  await expect(reused).rejects.toMatchObject({ reason: 'ID_REUSED' });
  const full = await listIds('alice');
  expect(full).toHaveLength(201);
  expect(full).toEqual(expect.arrayContaining([other, 't:request', 't:request-196', 't:second', 't:third']));
  expect(await createTask('alice', 'another')(plan)).toMatchObject({ created: true });

  await sql(`update notification set created_at = created_at - interval '1 hour' where user_id = 'alice'`);
  expect(await publish({ ...plan, id: 't:last' })).toMatchObject({ created: true });
  expect(await listIds('alice')).not.toContain('t:second');
  expect(await listIds('alice')).toEqual(expect.arrayContaining(['t:request', 't:request-196']));
});

test('requests without an answer give way an hour after they were settled, whether they were sent or not', async () => {
  const publish = createTask('frank');
  const ask = (id: string, given: Input = {}) =>
    publish({ ...plan, id: `t:${id}`, supersedes: 'NOTHING', ...given });
  await ask('answered');
  await answer(gateway, 'frank', { id: 't:answered', ...answers.approve });
  await copy('frank', 't:answered', 195);
  await ask('expired', { expiresInSeconds: 3600 });
  await makeExpired(gateway.database, 'frank', 't:expired');
  expect(await awaitRequest(gateway, 'frank', 't:expired')).toMatchObject({ state: 'EXPIRED' });
  await ask('withdrawn');
  await dismiss(gateway, 'frank', ['t:withdrawn']);
  await gateway.as(platform).resolve({ userId: 'frank', ids: ['t:withdrawn'], reason: 'RESUMED' });
  await ask('open');
  await ask('put-off');
  await dismiss(gateway, 'frank', ['t:put-off']);
  const full = expect.objectContaining(conflict('LIMIT_REACHED'));
  const passHour = (id: string) =>
    sql(
      `update notification set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour',
         resolved_at = resolved_at - interval '1 hour' where user_id = 'frank' and id = $1`,
      [id],
    );

  for (const id of ['t:open', 't:put-off', 't:answered']) await passHour(id);
  await expect(ask('1')).rejects.toEqual(full);
  for (const [index, id] of ['t:withdrawn', 't:expired'].entries()) {
    await passHour(id);
    expect(await ask(`new-${index}`)).toMatchObject({ created: true });
    expect(await listIds('frank')).not.toContain(id);
    await expect(ask('2')).rejects.toEqual(full);
  }

  const ids = await listIds('frank');
  expect(ids).toHaveLength(200);
  expect(ids).toEqual(expect.arrayContaining(['t:answered', 't:answered-195', 't:open', 't:put-off']));
});

test('sends 12 notifications and 30 requests of a task within an hour, and then stores them only', async () => {
  const publish = createTask('bob');
  await addTargets(gateway, 'bob');
  const skipped = (reason: string) =>
    ['CHAT_DM', 'EMAIL', 'PUSH'].map((channel) => `${channel} SKIPPED ${reason}`);

  const notifications = (await repeat(12, () => publish(failed))).map(toId);
  const requests = (await repeat(30, () => publish(plan))).map(toId);
  await sql(`update delivery set state = 'delivered', receipt = 'C1:1' where user_id = 'bob' and is_open`);
  const more = [await publish(failed), await publish({ ...plan, id: 't:31' })].map(toId);

  expect(
    await sql(
      `select count(distinct notification_id)::int as messages, count(*)::int from delivery where user_id = 'bob'`,
    ),
  ).toEqual([{ messages: 42, count: 42 * 3 }]);
  expect(await listDeliveries('bob', more[0])).toEqual(skipped('TASK_NOTIFICATIONS_PER_HOUR'));
  expect(await listDeliveries('bob', more[1])).toEqual(skipped('TASK_REQUESTS_PER_HOUR'));
  // The messages of what these superseded are updated.
  await untilEnded(gateway);
  for (const sent of [notifications[11], requests[29]]) {
    const update = `select distinct state, step from delivery where user_id = 'bob' and notification_id = $1`;
    expect(await sql(update, [sent])).toEqual([{ state: 'pending', step: 'update' }]);
  }
  // Neither a repetition nor the removal of old notifications begins a new hour.
  expect(await publish({ ...plan, id: 't:31' })).toMatchObject({ created: false });
  await copy('bob', notifications[0] ?? '', 160);
  await publish(failed);
  const again = toId(await publish(failed));
  expect(await listDeliveries('bob', again)).toEqual(skipped('TASK_NOTIFICATIONS_PER_HOUR'));
  expect((await listIds('bob')).length).toBe(200);

  // Neither other tasks nor the platform are limited.
  const ofAnother = toId(await createTask('bob', 'another')(failed));
  const { id: ofPlatform } = await publishAsPlatform(gateway, 'bob', 'task_failed', { task });
  for (const id of [ofAnother, ofPlatform])
    expect(await listDeliveries('bob', id)).toContain('CHAT_DM PENDING ');
  await sql(`update notification set created_at = created_at - interval '1 hour' where user_id = 'bob'`);
  for (const input of [failed, plan])
    expect(await listDeliveries('bob', toId(await publish(input)))).toContain('CHAT_DM PENDING ');
});

test('a channel that was skipped stays so for a task, and the reason of the user comes first', async () => {
  const publish = createTask('carol');
  const input = { ...failed, id: 't:1' };
  await publish(input);
  await addTargets(gateway, 'carol');

  expect(await publish(input)).toMatchObject({ created: false });
  expect(await listDeliveries('carol', 't:1')).toEqual(
    ['CHAT_DM', 'EMAIL', 'PUSH'].map((channel) => `${channel} SKIPPED NO_TARGET`),
  );

  await gateway.as('carol').updatePreferences({ preferences: [{ emailEnabled: false }] });
  const last = (await repeat(13, () => publish(failed))).at(-1);
  expect(last).toMatchObject({ deliverByCaller: [] });
  expect(await listDeliveries('carol', last && toId(last))).toEqual([
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
  const publish = createTask('dave');
  const message = /^must have at most (\d+) bytes as JSON, and has (\d+)$/;
  const refuse = (length: number) => publish(input('x'.repeat(length))).catch((refusal) => refusal);

  const length = Math.min(max, 65_000);
  const first = await refuse(length);
  const [, limit, size] = message.exec(first.errors[0].message) ?? [];
  const fitting = length - (Number(size) - max);

  expect(first.errors.map((error: { location: string }) => error.location)).toEqual([location]);
  expect(Number(limit)).toBe(max);
  const least = expect.objectContaining({ location, message: expect.stringContaining(`has ${max + 1}`) });
  expect((await refuse(fitting + 1)).errors).toEqual([least]);
  expect(await publish(input('x'.repeat(fitting)))).toMatchObject({ created: true });
});

test('accepts no default of a request', async () => {
  const publish = createTask('erin');
  for (const decision of ['APPROVE', 'REJECT']) {
    const onExpiry = { plan: { decision } };
    const publishing = publish({ ...plan, expiresInSeconds: 60, onExpiry });
    const rule: [string, string] = ['input.onExpiry', 'must be omitted for a task token'];
    await expect(publishing).rejects.toMatchObject(refused('VALIDATION_FAILED', rule));
  }
});
