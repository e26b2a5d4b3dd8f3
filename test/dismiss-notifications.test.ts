import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { currentCursor, dismiss, dismissBy, nextEvent, subscribeToNotifications } from './support/inbox.ts';
import { publish, resolve } from './support/records.ts';
import { member } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const statusesOf = async (user: string) =>
  Object.fromEntries(
    (await gateway.database.sql('select id, status from notification where user_id = $1', [user])).map(
      ({ id, status }) => [id, status],
    ),
  );
const fill = (user: string, ids: readonly string[]) =>
  Promise.all(ids.map((id) => publish(gateway, user, 'task_failed', { id })));

async function refusal(user: string, input: object) {
  const query =
    'mutation ($input: DismissNotificationsInput!) { dismissNotifications(input: $input) { __typename } }';
  const { errors } = await graphql(gateway, query, { input }, { token: await member(user) });
  return errors[0]?.extensions;
}

test('by ids: those that were not dismissed yet are, resolved ones too, and are answered', async () => {
  const task = { id: 'task', projectId: 'p' };
  await publish(gateway, 'ids', 'task_failed', { id: 'resolved', task });
  await resolve(gateway, 'ids', 'task');
  await fill('ids', ['a', 'b', 'kept']);

  expect((await dismiss(gateway, 'ids', ['a', 'resolved', 'a'])).sort()).toEqual(['a', 'resolved']);
  expect(await dismiss(gateway, 'ids', ['a', 'b'])).toEqual(['b']);

  expect(await statusesOf('ids')).toEqual({
    a: 'dismissed',
    b: 'dismissed',
    resolved: 'dismissed',
    kept: 'active',
  });
  expect(await dismiss(gateway, 'ids', [])).toEqual([]);
});

test('by ids: unknown ones and those of others are passed over', async () => {
  await fill('others', ['theirs']);
  await fill('mine', ['mine']);

  expect(await dismiss(gateway, 'mine', ['unknown', 'theirs', 'mine'])).toEqual(['mine']);
  expect(await statusesOf('others')).toEqual({ theirs: 'active' });
});

test('by ids: at most 100', async () => {
  const ids = Array.from({ length: 101 }, (_none, number) => `n-${number}`);

  expect(await dismiss(gateway, 'hundred', ids.slice(1))).toEqual([]);
  expect(await refusal('hundred', { ids })).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.ids' }],
  });
  expect(await refusal('hundred', { ids: ['a', ''] })).toMatchObject({
    errors: [{ location: 'input.ids[1]' }],
  });
});

test('by filter: active ones up to a cursor; what changed after it stays', async () => {
  await fill('seen', ['a', 'b']);
  const upTo = await currentCursor(gateway, 'seen');
  await fill('seen', ['later']);

  expect((await dismissBy(gateway, 'seen', { filter: { upTo } })).sort()).toEqual(['a', 'b']);
  expect(await dismissBy(gateway, 'seen', { filter: { upTo } })).toEqual([]);
  expect(await statusesOf('seen')).toEqual({ a: 'dismissed', b: 'dismissed', later: 'active' });
});

test('by filter: of some kinds and of one project', async () => {
  const user = 'some';
  const inProject = (id: string, projectId: string) => ({ id, task: { id, projectId } });
  await publish(gateway, user, 'task_failed', inProject('failed-p', 'p'));
  await publish(gateway, user, 'task_failed', inProject('failed-q', 'q'));
  await publish(gateway, user, 'plan_requested', inProject('plan-p', 'p'));
  const upTo = await currentCursor(gateway, user);

  expect(await dismissBy(gateway, user, { filter: { upTo, kinds: [] } })).toEqual([]);
  expect(
    await dismissBy(gateway, user, { filter: { upTo, kinds: ['TASK_FAILED'], projectId: 'p' } }),
  ).toEqual(['failed-p']);
  expect(await dismissBy(gateway, user, { filter: { upTo, projectId: 'q' } })).toEqual(['failed-q']);
  expect(await dismissBy(gateway, user, { filter: { upTo, kinds: ['PLAN_REQUESTED'] } })).toEqual(['plan-p']);
});

test('by filter: a cursor of another user or none at all dismisses nothing', async () => {
  await fill('cursor', ['n']);
  await fill('stranger', ['a', 'b', 'c']);
  const upTo = await currentCursor(gateway, 'stranger');

  expect(await dismissBy(gateway, 'cursor', { filter: { upTo } })).toEqual([]);
  expect(await refusal('cursor', { filter: { upTo: 'x' } })).toEqual({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.filter.upTo', message: 'is not a cursor of changes', value: 'x' }],
  });
});

test.each([
  ['both ways', { ids: ['a'], filter: { upTo: 'x' } }],
  ['no way', {}],
  ['ids that are null', { ids: null }],
])('%s is refused', async (_what, input) => {
  expect(await refusal('one-of', input)).toMatchObject({ code: 'VALIDATION_FAILED' });
});

test('each dismissed notification is an event of its own, and of many at once each is dismissed by one', async () => {
  const ids = Array.from({ length: 30 }, (_none, number) => `n-${number}`);
  await fill('race', ids);
  const stream = await subscribeToNotifications(gateway, 'race');

  const answers = await Promise.all(Array.from({ length: 6 }, () => dismiss(gateway, 'race', ids)));

  expect(answers.flat().sort()).toEqual(ids.toSorted());
  const events = [];
  while (events.length < ids.length) events.push(await nextEvent(stream));
  expect(new Set(events.map(({ notification }) => notification.id)).size).toBe(ids.length);
  expect(new Set(events.map(({ cursor }) => cursor)).size).toBe(ids.length);
  expect(events.at(-1)).toMatchObject({ type: 'DISMISSED', counts: { total: 0 } });
  stream.close();
});
