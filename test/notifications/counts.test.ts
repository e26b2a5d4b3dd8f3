import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { changeNotifications, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { type Kind, payloads, publish, readStatuses, resolve } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const kinds = Object.keys(payloads) as Kind[];

const gateway = useGateway();
const { as } = gateway;

test('counts active notifications of every kind in the order of the specification, including zeros', async () => {
  const task = { id: 'task', projectId: 'project' };
  const read = async () => {
    const { total, byKind } = await as('alice').counts();
    expect(byKind.map(({ kind }) => kind.toLowerCase())).toEqual(kinds);
    return [total, ...byKind.map(({ count }) => count)];
  };
  expect(await read()).toEqual([0, 0, 0, 0, 0]);

  for (const kind of kinds) await publish(gateway, 'alice', kind, { task });
  await publish(gateway, 'alice', 'task_failed', { task });
  await publish(gateway, 'alice', 'task_failed');
  expect(await read()).toEqual([5, 1, 1, 2, 1]);

  await resolve(gateway, 'alice', task.id);
  expect(await read()).toEqual([1, 0, 0, 1, 0]);
});

test("the platform can count any user's notifications, and users only their own", async () => {
  await publish(gateway, 'counted', 'task_failed');
  const query = '{ user(id: "counted") { notificationCounts { userId total } } }';

  const { data } = await as(() => platform('platform:read')).graphql(query);
  expect(data.user.notificationCounts).toEqual({ userId: 'counted', total: 1 });
  const { errors } = await as('other').graphql(query);
  expect(errors[0].extensions.code).toBe('FORBIDDEN');
});

test('no change is missed between its cursor and `notificationEvents(after:)`', async () => {
  const user = 'gapless';
  const changes = Promise.all(
    Array.from({ length: 20 }, (_none, number) => changeNotifications(gateway, user, number)),
  );
  const { cursor } = await as(user).counts();
  const { nodes } = await as(user).notifications({ first: 100 });
  const state = new Map(nodes.map(({ id, status }) => [id, status.toLowerCase()]));
  const stream = await subscribeToNotifications(gateway, user, cursor);
  await changes;
  await publish(gateway, user, 'task_failed', { id: 'last' });
  let total: number | undefined;
  while (!state.has('last')) {
    const { notification, counts } = await nextEvent(stream);
    state.set(notification.id, notification.status.toLowerCase());
    total = counts.total;
  }
  stream.close();

  const stored = await readStatuses(gateway, user);
  expect(Object.fromEntries(state)).toEqual(stored);
  expect(total).toBe(Object.values(stored).filter((status) => status === 'active').length);
  expect((await as(user).counts()).total).toBe(total);
});
