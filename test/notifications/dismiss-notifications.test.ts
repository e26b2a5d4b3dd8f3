import { expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, dismissBy, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish, resolve } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();

const readStatuses = async (user: string) =>
  Object.fromEntries(
    (await gateway.database.sql('select id, status from notification where user_id = $1', [user])).map(
      ({ id, status }) => [id, status],
    ),
  );
const fill = (user: string, ids: readonly string[]) =>
  Promise.all(ids.map((id) => publish(gateway, user, 'task_failed', { id })));

async function expectError(user: string, input: object) {
  const query =
    'mutation ($input: DismissNotificationsInput!) { dismissNotifications(input: $input) { __typename } }';
  const { errors } = await graphql(gateway, query, { input }, { token: await member(user) });
  return errors[0]?.extensions;
}

test('by IDs: dismisses active and resolved notifications, and returns those that it changed', async () => {
  const task = { id: 'task', projectId: 'p' };
  await publish(gateway, 'ids', 'task_failed', { id: 'resolved', task });
  await resolve(gateway, 'ids', 'task');
  await fill('ids', ['a', 'b', 'kept']);

  expect((await dismiss(gateway, 'ids', ['a', 'resolved', 'a'])).sort()).toEqual(['a', 'resolved']);
  expect(await dismiss(gateway, 'ids', ['a', 'b'])).toEqual(['b']);

  expect(await readStatuses('ids')).toEqual({
    a: 'dismissed',
    b: 'dismissed',
    resolved: 'dismissed',
    kept: 'active',
  });
  expect(await dismiss(gateway, 'ids', [])).toEqual([]);
});

test("by IDs: ignores unknown IDs and IDs of other users' notifications", async () => {
  await fill('others', ['theirs']);
  await fill('mine', ['mine']);

  expect(await dismiss(gateway, 'mine', ['unknown', 'theirs', 'mine'])).toEqual(['mine']);
  expect(await readStatuses('others')).toEqual({ theirs: 'active' });
});

test('by IDs: accepts at most 100', async () => {
  const ids = Array.from({ length: 101 }, (_none, number) => `n-${number}`);

  expect(await dismiss(gateway, 'hundred', ids.slice(1))).toEqual([]);
  expect(await expectError('hundred', { ids })).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.ids' }],
  });
  expect(await expectError('hundred', { ids: ['a', ''] })).toMatchObject({
    errors: [{ location: 'input.ids[1]' }],
  });
});

test('by filter: dismisses active notifications up to a cursor, but none that changed later', async () => {
  await fill('seen', ['a', 'b']);
  const upTo = await currentCursor(gateway, 'seen');
  await fill('seen', ['later']);

  expect((await dismissBy(gateway, 'seen', { filter: { upTo } })).sort()).toEqual(['a', 'b']);
  expect(await dismissBy(gateway, 'seen', { filter: { upTo } })).toEqual([]);
  expect(await readStatuses('seen')).toEqual({ a: 'dismissed', b: 'dismissed', later: 'active' });
});

test('by filter: dismisses only the given kinds and project', async () => {
  const user = 'some';
  const inProject = (id: string, projectId: string) => ({ id, task: { id, projectId } });
  await publish(gateway, user, 'task_failed', inProject('failed-p', 'p'));
  await publish(gateway, user, 'task_failed', inProject('failed-q', 'q'));
  await publish(gateway, user, 'plan_requested', inProject('plan-p', 'p'));
  const upTo = await currentCursor(gateway, user);

  expect(await dismissBy(gateway, user, { filter: { upTo, kinds: [] } })).toEqual([]);
  expect(
    await dismissBy(gateway, user, { filter: { upTo, kinds: ['TASK_FAILED'], projectIds: ['p'] } }),
  ).toEqual(['failed-p']);
  expect(await dismissBy(gateway, user, { filter: { upTo, projectIds: ['q'] } })).toEqual(['failed-q']);
  expect(
    await dismissBy(gateway, user, { filter: { upTo, kinds: ['PLAN_REQUESTED'], openRequests: true } }),
  ).toEqual(['plan-p']);
});

test("by filter: dismisses nothing with another user's cursor, and rejects an invalid one", async () => {
  await fill('cursor', ['n']);
  await fill('other-user', ['a', 'b', 'c']);
  const upTo = await currentCursor(gateway, 'other-user');

  expect(await dismissBy(gateway, 'cursor', { filter: { upTo } })).toEqual([]);
  expect(await expectError('cursor', { filter: { upTo: 'x' } })).toEqual({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.filter.upTo', message: 'must be an event cursor', value: 'x' }],
  });
});

test.each([
  ['ids together with filter', { ids: ['a'], filter: { upTo: 'x' } }],
  ['neither ids nor filter', {}],
  ['null ids', { ids: null }],
])('rejects %s', async (_what, input) => {
  expect(await expectError('one-of', input)).toMatchObject({ code: 'VALIDATION_FAILED' });
});

test('concurrent dismissals send exactly one event for each notification', async () => {
  const ids = Array.from({ length: 30 }, (_none, number) => `n-${number}`);
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
