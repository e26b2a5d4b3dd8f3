import { afterEach, describe, expect, test } from 'vitest';
import { addTargets, putContact, registerPush, unreachableProviders } from '../support/delivery.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { type Scrape, scrape } from '../support/metrics.ts';
import { publish } from '../support/records.ts';
import { updateStatistics } from '../support/statistics.ts';
import { platform } from '../support/tokens.ts';

/* What operators and users see of deliveries. outbox.test.ts tests what is shown of skipped channels. */

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });
const { as } = gateway;

const update = (userId: string, channel: string, columns: string) =>
  gateway.database.sql(`update delivery set ${columns} where user_id = $1 and channel = $2`, [
    userId,
    channel,
  ]);

test('the user and a dashboard read the deliveries of a notification', async () => {
  await putContact(gateway, 'alice', { chatMemberId: 'U-alice' });
  const subscription = await registerPush(gateway, 'alice', 'https://push.example.com/alice');
  const { id, createdAt } = await publish(gateway, 'alice');
  const deliveries = await as('alice').deliveries({ notificationId: id });

  const delivery = {
    attempts: 0,
    providerCode: null,
    pushSubscriptionId: null,
    createdAt,
    deliveredAt: null,
  };
  const time = expect.any(String);
  const pending = { ...delivery, state: 'PENDING', reason: null, nextAttemptAt: time, updatedAt: time };
  const skipped = { state: 'SKIPPED', reason: 'NO_TARGET', nextAttemptAt: null, updatedAt: createdAt };
  expect(deliveries).toEqual([
    { ...pending, channel: 'CHAT_DM' },
    { ...delivery, ...skipped, channel: 'EMAIL' },
    { ...pending, channel: 'PUSH', pushSubscriptionId: subscription },
  ]);
  const query = `query ($id: ID!) { user(id: "alice") { deliveries(notificationId: $id) { channel state } } }`;
  const { data } = await as(platform).graphql(query, { id });
  expect(data.user.deliveries).toEqual(deliveries.map(({ channel, state }) => ({ channel, state })));
  expect(await as('mallory').deliveries({ notificationId: id })).toEqual([]);
});

describe('of all deliveries', () => {
  afterEach(() => gateway.database.sql('delete from delivery'));

  async function readStatistics() {
    await updateStatistics(gateway.database);
    const query =
      '{ platform { statistics { deliveries { channel state count } deliveryBacklog { channel count dueSince } } } }';
    return (await as(platform).graphql(query)).data.platform.statistics;
  }

  test('the statistics count states, and what is due', async () => {
    await gateway.database.sql('delete from delivery');
    expect(await readStatistics()).toEqual({ deliveries: [], deliveryBacklog: [] });
    for (const userId of ['one', 'two', 'three']) {
      await addTargets(gateway, userId);
      await publish(gateway, userId);
    }
    await update('one', 'chat', `state = 'delivered', step = 'update', is_open = false`);
    await update('two', 'chat', `state = 'pending', step = 'update', due_at = '2026-05-04T10:00:00Z'`);
    await update('one', 'push', `state = 'failed', due_at = '2026-05-04T08:00:00Z'`);
    await update('two', 'push', `state = 'sending', due_at = '2026-05-04T09:00:00Z'`);
    await update('three', 'push', `due_at = now() + interval '1 h'`);
    await update('three', 'email', `state = 'cancelled', may_be_delivered = true, is_open = false`);
    await gateway.database.sql('update delivery set first_due_at = due_at');

    expect(await readStatistics()).toEqual({
      deliveries: [
        { channel: 'CHAT_DM', state: 'DELIVERED', count: 2 },
        { channel: 'CHAT_DM', state: 'PENDING', count: 1 },
        { channel: 'EMAIL', state: 'MAYBE_DELIVERED', count: 1 },
        { channel: 'EMAIL', state: 'PENDING', count: 2 },
        { channel: 'PUSH', state: 'FAILED', count: 1 },
        { channel: 'PUSH', state: 'PENDING', count: 1 },
        { channel: 'PUSH', state: 'SENDING', count: 1 },
      ],
      deliveryBacklog: [
        { channel: 'CHAT_DM', count: 2, dueSince: '2026-05-04T10:00:00.000Z' },
        { channel: 'PUSH', count: 1, dueSince: '2026-05-04T09:00:00.000Z' },
      ],
    });
  });

  const readMetrics = (metrics: Scrape, name: string) =>
    ['chat', 'email', 'push'].map((channel) => metrics.sum(`gateway_delivery_${name}`, { channel }) ?? -1);

  test('a gateway that does not send reports the backlog', async () => {
    await addTargets(gateway, 'waiting');
    await publish(gateway, 'waiting');
    const ago = (seconds: number) => `now() - interval '${seconds} s'`;
    await update('waiting', 'chat', `first_due_at = ${ago(200)}, due_at = ${ago(90)}`);
    // It waits for its retry, and so is not overdue.
    await update('waiting', 'push', `first_due_at = ${ago(300)}, due_at = ${ago(-90)}, attempts = 3`);
    const metrics = await scrape(gateway);

    expect(readMetrics(metrics, 'backlog')).toEqual([1, 0, 1]);
    const [overdue = 0, ...others] = readMetrics(metrics, 'overdue_seconds');
    expect(others).toEqual([0, 0]);
    expect(overdue).toBeGreaterThanOrEqual(90);
    expect(overdue).toBeLessThan(200);
    const [chatAge, emailAge, pushAge] = readMetrics(metrics, 'age_seconds');
    expect(chatAge).toBeGreaterThanOrEqual(200);
    expect(emailAge).toBe(0);
    expect(pushAge).toBeGreaterThanOrEqual(300);
    expect(metrics.types.has('gateway_delivery_attempts_total')).toBe(false);
  });

  test('a gateway counts attempts by outcome, from 0, and without providers nothing', async () => {
    const sending = await startTestGateway(unreachableProviders, gateway.database);
    const attempts = (await scrape(sending)).sum('gateway_delivery_attempts_total', { outcome: 'delivered' });
    // A counter that starts with its first increment would hide that from `increase`.
    expect(attempts).toBe(0);
    await sending.close();
    const without = await startTestGateway({}, gateway.database);
    const { types } = await scrape(without);
    expect([...types.keys()].filter((name) => name.startsWith('gateway_delivery'))).toEqual([]);
    await without.close();
  });
});
