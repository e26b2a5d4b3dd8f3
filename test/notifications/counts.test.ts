import { expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { changeNotifications, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { asMember, type Kind, payloads, publish, resolve } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const counts = 'notificationCounts { userId total cursor byKind { kind count } }';
const kinds = Object.keys(payloads) as Kind[];

const gateway = useGateway();

const readCounts = async (user: string) =>
  (await asMember(gateway, user, `{ ${counts} }`)).notificationCounts;
const listNumbers = ({ byKind }: { byKind: { count: number }[] }) => byKind.map(({ count }) => count);

test('counts every kind in the order of the specification, including zeros', async () => {
  expect(await readCounts('nobody')).toEqual({
    userId: 'nobody',
    total: 0,
    cursor: expect.any(String),
    byKind: kinds.map((kind) => ({ kind: kind.toUpperCase(), count: 0 })),
  });
});

test('counts active notifications only', async () => {
  const task = { id: 'task', projectId: 'project' };
  for (const kind of kinds) await publish(gateway, 'active', kind, { task });
  await publish(gateway, 'active', 'task_failed', { task });
  await publish(gateway, 'active', 'task_failed');
  expect(listNumbers(await readCounts('active'))).toEqual([1, 1, 2, 1]);

  await resolve(gateway, 'active', task.id);
  const { total, byKind } = await readCounts('active');
  expect([total, ...listNumbers({ byKind })]).toEqual([1, 0, 0, 1, 0]);
});

test("the platform can count any user's notifications, and users only their own", async () => {
  await publish(gateway, 'counted', 'task_failed');
  const query = `{ user(id: "counted") { ${counts} } }`;

  const allowed = await graphql(gateway, query, {}, { token: await platform('platform:read') });
  const refused = await graphql(gateway, query, {}, { token: await member('other') });

  expect(allowed.data.user.notificationCounts).toMatchObject({ userId: 'counted', total: 1 });
  expect(refused.errors[0].extensions.code).toBe('FORBIDDEN');
});

test('no change is missed between its cursor and `notificationEvents(after:)`', async () => {
  const user = 'gapless';
  const changes = Promise.all(
    Array.from({ length: 20 }, (_none, number) => changeNotifications(gateway, user, number)),
  );
  const { cursor } = await readCounts(user);
  const { notifications } = await asMember(
    gateway,
    user,
    '{ notifications(first: 100) { nodes { ... on UserNotification { id status } } } }',
  );
  const state = new Map(
    notifications.nodes.map(({ id, status }: { id: string; status: string }) => [id, status.toLowerCase()]),
  );
  const stream = await subscribeToNotifications(gateway, user, cursor);
  await changes;
  await publish(gateway, user, 'task_failed', { id: 'last' });
  let counts: { total: number } | undefined;
  while (!state.has('last')) {
    const event = await nextEvent(stream);
    state.set(event.notification.id, event.notification.status.toLowerCase());
    counts = event.counts;
  }
  stream.close();

  const stored = await gateway.database.sql('select id, status from notification where user_id = $1', [user]);
  expect(Object.fromEntries(state)).toEqual(Object.fromEntries(stored.map(({ id, status }) => [id, status])));
  expect(counts?.total).toBe(stored.filter(({ status }) => status === 'active').length);
  const now = await readCounts(user);
  expect(now.total).toBe(counts?.total);
  expect(now.total).toBe(listNumbers(now).reduce((sum, count) => sum + count, 0));
});
