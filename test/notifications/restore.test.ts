import { expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish, readStatuses, resolve } from '../support/records.ts';
import { answer, answers, listEvents } from '../support/requests.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const fill = (user: string, ids: readonly string[]) =>
  Promise.all(ids.map((id) => publish(gateway, user, 'task_failed', { id })));
const seen = async (user: string) => ({ upTo: await currentCursor(gateway, user) });

test.each([
  ['IDs', async () => ({ ids: ['a', 'b', 'before', 'theirs'] })],
  ['filter', async (user: string) => ({ filter: await seen(user) })],
])('restores what a dismissal by %s dismissed, once, and nothing else', async (by, select) => {
  const [user, other] = [`undo ${by}`, `other ${by}`];
  await fill(other, ['theirs']);
  await fill(user, ['before']);
  await dismiss(gateway, user, ['before']);
  for (const id of ['a', 'b']) await fill(user, [id]);
  const input = await select(user);
  await fill(user, ['after']);
  const { dismissedCount, undoToken } = await as(user).dismissAll(input);
  expect(dismissedCount).toBe(2);
  await dismiss(gateway, user, ['after']);
  expect((await as(other).restoreAll({ undoToken })).restoredCount).toBe(0);

  const stream = await subscribeToNotifications(gateway, user);
  const restored = [
    { id: 'a', status: 'ACTIVE' },
    { id: 'b', status: 'ACTIVE' },
  ];
  expect(await as(user).restoreAll({ undoToken })).toMatchObject({
    restoredCount: 2,
    notifications: restored,
  });
  for (const notification of restored) expect(await nextEvent(stream)).toMatchObject({ notification });
  stream.close();
  expect((await listEvents(gateway.database, user)).slice(-2)).toEqual(['restored a', 'restored b']);

  await dismiss(gateway, user, ['a']);
  expect(await as(user).restoreAll({ undoToken })).toEqual({ restoredCount: 0, notifications: [] });
  expect(await readStatuses(gateway, user)).toEqual({
    before: 'dismissed',
    a: 'dismissed',
    b: 'active',
    after: 'dismissed',
  });
  expect((await as(user).dismissAll({ ids: ['a'] })).undoToken).toBeNull();
});

test.each<[what: string, happen: (user: string, task: object) => Promise<unknown>, resolution: string]>([
  ['supersedes every slot', (user, task) => publish(gateway, user, 'task_failed', { task }), 'SUPERSEDED'],
  [
    'resolves the task up to a time',
    (userId) =>
      as(platform).resolve({
        userId,
        taskId: 'task',
        before: new Date(Date.now() + 60_000).toISOString(),
        reason: 'TASK_DELETED',
      }),
    'TASK_DELETED',
  ],
])('what %s after a dismissal resolves what is restored', async (what, happen, resolution) => {
  const task = { id: 'task', projectId: 'p' };
  const { id } = await publish(gateway, what, 'task_failed', { task, supersedes: 'NOTHING' });
  await dismiss(gateway, what, [id]);
  await happen(what, task);

  await as(what).restore({ id });

  const { nodes } = await as(what).notifications({ filter: { statuses: ['RESOLVED'] } });
  expect(nodes).toMatchObject([{ id, resolution }]);
});

test('what happened to a notification since its dismissal decides its status', async () => {
  const user = 'meanwhile';
  const task = (id: string) => ({ id, task: { id, projectId: 'p' } });
  for (const id of ['answered', 'superseded', 'resolved', 'single', 'open'])
    await publish(gateway, user, 'plan_requested', task(id));
  const filter = { ...(await seen(user)), openRequests: true };
  const { dismissedCount, undoToken } = await as(user).dismissAll({ filter });
  expect(dismissedCount).toBe(5);
  await answer(gateway, user, { id: 'answered', ...answers.approve });
  await publish(gateway, user, 'plan_requested', { ...task('superseded'), id: 'successor' });
  await resolve(gateway, user, 'resolved');
  await as(user).restore({ id: 'single' });

  expect((await as(user).restoreAll({ undoToken })).restoredCount).toBe(4);
  expect(await readStatuses(gateway, user)).toEqual({
    answered: 'resolved',
    superseded: 'resolved',
    successor: 'active',
    resolved: 'resolved',
    single: 'active',
    open: 'active',
  });
});

test('restores any number once, and other changes of the user do not wait for all of them', async () => {
  const number = 2000;
  await insertNotifications(gateway.database, 'many', number, {
    kind: `'task_failed'`,
    status: `'active'`,
    task_id: `'task-' || n`,
    payload: `'{"taskStatus":"errored"}'`,
  });
  await gateway.database.sql(`insert into user_revision (user_id, notifications) values ('many', $1)`, [
    number,
  ]);
  const { dismissedCount, undoToken } = await as('many').dismissAll({ filter: await seen('many') });
  expect(dismissedCount).toBe(number);

  let isUndone = false;
  const undo = () => as('many').restoreAll({ undoToken });
  const undoingTwice = Promise.all([undo(), undo()]).finally(() => {
    isUndone = true;
  });
  await fill('many', ['other']);
  expect(isUndone).toBe(false);
  const results = await undoingTwice;
  expect(results.reduce((sum, { restoredCount }) => sum + restoredCount, 0)).toBe(number);
  for (const { restoredCount, notifications } of results)
    expect(notifications).toHaveLength(Math.min(restoredCount, 100));
  expect(
    await gateway.database.sql(
      `select count(*)::int as count, count(distinct revision)::int as revisions, bool_and(status = 'active') as active
         from notification where user_id = 'many'`,
    ),
  ).toEqual([{ count: number + 1, revisions: number + 1, active: true }]);
});

test.each<[what: string, input: object, location: string]>([
  ['101 IDs', { ids: Array(101).fill('a') }, 'input.ids'],
  ['an invalid ID', { ids: [''] }, 'input.ids[0]'],
  ['an event cursor as undo token', { undoToken: 'WyJhIiwxXQ' }, 'input.undoToken'],
  ['IDs together with an undo token', { ids: ['a'], undoToken: 'x' }, 'input'],
  ['neither', {}, 'input'],
])('refuses %s, in GraphQL and REST', async (_what, input, location) => {
  const { rest, restoreAll } = as('invalid');
  await expect(restoreAll(input)).rejects.toMatchObject(refused('VALIDATION_FAILED', location));
  const body = JSON.parse(JSON.stringify(input).replace('undoToken', 'undo_token'));
  const reply = await rest.post('/user/notifications/restore', body);
  const place = location.replace('input', 'body').replace('undoToken', 'undo_token');
  expect([reply.status, reply.body.errors[0].location]).toEqual([422, place]);
});

test('REST restores by undo token, by IDs, and one notification', async () => {
  await fill('rest', ['a', 'b']);
  const ask = async (path: string, body?: object) =>
    (await as('rest').rest.post(`/user/notifications/${path}`, body)).body;
  const { undo_token } = await ask('dismiss', { ids: ['a', 'b'] });

  expect(await ask('restore', { undo_token })).toMatchObject({
    restored_count: 2,
    notifications: [{ id: 'a' }, { id: 'b' }],
  });
  expect(await ask('restore', { ids: ['a'] })).toEqual({ restored_count: 0, notifications: [] });
  await ask('a/dismiss');
  expect((await ask('restore', { ids: ['a', 'unknown'] })).restored_count).toBe(1);
  await ask('b/dismiss');
  for (const _ of ['dismissed', 'active'])
    expect(await ask('b/restore')).toMatchObject({
      notification: { id: 'b', status: 'active', dismissed_at: null },
    });
  expect((await as('rest').rest.post('/user/notifications/unknown/restore')).status).toBe(404);
});
