import { expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, dismissBy, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish, readStatuses, resolve } from '../support/records.ts';

const gateway = useGateway();
const { as } = gateway;

const fill = (user: string, ids: readonly string[]) =>
  Promise.all(ids.map((id) => publish(gateway, user, 'task_failed', { id })));
const manyIds = Array.from({ length: 101 }, (_none, number) => `n-${number}`);

test('by IDs: dismisses active and resolved notifications, and returns those that it changed', async () => {
  await publish(gateway, 'ids', 'task_failed', { id: 'resolved', task: { id: 'task', projectId: 'p' } });
  await resolve(gateway, 'ids', 'task');
  await fill('ids', ['a', 'b', 'kept']);
  await fill('others', ['theirs']);

  expect((await dismiss(gateway, 'ids', ['a', 'resolved', 'a'])).sort()).toEqual(['a', 'resolved']);
  expect(await dismiss(gateway, 'ids', ['a', 'unknown', 'theirs', 'b'])).toEqual(['b']);
  expect(await dismiss(gateway, 'ids', [])).toEqual([]);
  expect(await dismiss(gateway, 'ids', manyIds.slice(1))).toEqual([]);

  expect(await readStatuses(gateway, 'ids')).toEqual({
    a: 'dismissed',
    b: 'dismissed',
    resolved: 'dismissed',
    kept: 'active',
  });
  expect(await readStatuses(gateway, 'others')).toEqual({ theirs: 'active' });
});

test('by filter: dismisses active notifications up to a cursor, but none that changed later', async () => {
  await fill('seen', ['a', 'b']);
  const upTo = await currentCursor(gateway, 'seen');
  await fill('seen', ['later']);

  expect((await dismissBy(gateway, 'seen', { filter: { upTo } })).sort()).toEqual(['a', 'b']);
  expect(await dismissBy(gateway, 'seen', { filter: { upTo } })).toEqual([]);
  expect(await readStatuses(gateway, 'seen')).toEqual({ a: 'dismissed', b: 'dismissed', later: 'active' });
});

test('by filter: dismisses only the given kinds and project', async () => {
  const user = 'some';
  const inProject = (id: string, projectId: string) => ({ id, task: { id, projectId } });
  await publish(gateway, user, 'task_failed', inProject('failed-p', 'p'));
  await publish(gateway, user, 'task_failed', inProject('failed-q', 'q'));
  await publish(gateway, user, 'plan_requested', inProject('plan-p', 'p'));
  const upTo = await currentCursor(gateway, user);

  for (const [filter, ids] of [
    [{ kinds: [] }, []],
    [{ kinds: ['TASK_FAILED'], projectIds: ['p'] }, ['failed-p']],
    [{ projectIds: ['q'] }, ['failed-q']],
    [{ kinds: ['PLAN_REQUESTED'], openRequests: true }, ['plan-p']],
  ] as const)
    expect(await dismissBy(gateway, user, { filter: { upTo, ...filter } })).toEqual(ids);
});

test("by filter: dismisses nothing with another user's cursor", async () => {
  await fill('cursor', ['n']);
  await fill('other-user', ['a', 'b', 'c']);
  const upTo = await currentCursor(gateway, 'other-user');
  expect(await dismissBy(gateway, 'cursor', { filter: { upTo } })).toEqual([]);
});

test.each([
  [{ ids: manyIds }, 'input.ids', 'must have at most 100 items'],
  [{ ids: ['a', ''] }, 'input.ids[1]', 'must be 1 to 255 characters without control characters'],
  [{ filter: { upTo: 'x' } }, 'input.filter.upTo', 'must be an event cursor'],
])('refuses %j', async (input, location, message) => {
  await expect(as('refused').dismissAll(input)).rejects.toMatchObject(
    refused('VALIDATION_FAILED', [location, message]),
  );
});

test('concurrent dismissals send exactly one event for each notification', async () => {
  const ids = manyIds.slice(0, 30);
  await fill('race', ids);
  const stream = await subscribeToNotifications(gateway, 'race');

  const results = await Promise.all(Array.from({ length: 6 }, () => dismiss(gateway, 'race', ids)));

  expect(results.flat().sort()).toEqual(ids.toSorted());
  const events = [];
  while (events.length < ids.length) events.push(await nextEvent(stream));
  expect(new Set(events.map(({ notification }) => notification.id)).size).toBe(ids.length);
  expect(new Set(events.map(({ cursor }) => cursor)).size).toBe(ids.length);
  expect(events.at(-1)).toMatchObject({ type: 'DISMISSED', counts: { total: 0 } });
  stream.close();
});
