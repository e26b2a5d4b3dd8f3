import { describe, expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { notification as createNotification, payloads, resolve, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

/* That the order of arrival does not matter is a property in lifecycle.test.ts. */

const task = { id: 'task', projectId: 'project' };
const draft = (userId: string, given: object = {}) =>
  createNotification(userId, 'plan_requested', { task, ...given });
const publish = (userId: string, given: object = {}) => as(platform).publish(draft(userId, given));
const find = (userId: string, id: string) => as(userId).notification({ id });
const readRows = (userId: string) =>
  gateway.database.sql('select * from notification where user_id = $1', [userId]);

test('publishing creates an active notification with a UUID, and `occurredAt` defaults to now', async () => {
  const before = new Date().toISOString();
  const { created, notification } = await publish('fresh');
  const { createdAt } = notification;
  expect(created).toBe(true);
  expect(notification).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    status: 'ACTIVE',
    occurredAt: createdAt,
    updatedAt: createdAt,
    resolvedAt: null,
    resolution: null,
    dismissedAt: null,
  });
  expect(createdAt >= before && createdAt <= new Date().toISOString()).toBe(true);
});

test.each<[given: string, returned: string]>([
  ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T09:30:00.5+02:00', '2026-01-31T07:30:00.500Z'],
  ['2026-01-31T09:30:00.123999Z', '2026-01-31T09:30:00.123Z'],
  ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
  ['2026-01-31t09:30:00z', '2026-01-31T09:30:00.000Z'],
])('returns the timestamp %s as %s over both APIs', async (occurredAt, returned) => {
  const user = `time ${occurredAt}`;
  expect((await publish(user, { occurredAt })).notification.occurredAt).toBe(returned);
  const { body } = await as(user).rest.get('/user/notifications');
  expect(body.notifications[0].occurred_at).toBe(returned);
});

describe('a retry with the same ID', () => {
  const id = 'mine';

  test('and content returns the stored notification and changes nothing', async () => {
    const first = await publish('retry', { id });
    const stored = await readRows('retry');

    expect(await publish('retry', { id })).toEqual({ ...first, created: false });
    expect(first.created).toBe(true);
    expect(await readRows('retry')).toEqual(stored);
  });

  test('may omit the timestamp, order keys differently, or use another time zone', async () => {
    const occurredAt = '2026-01-31T09:30:00Z';
    const createPayload = (input: object) => ({ planRequested: { toolId: 't', input } });
    const payload = createPayload({ summary: 's', plan: 'p', more: { a: 1, b: [2] } });
    const reordered = createPayload({ more: { b: [2], a: 1 }, plan: 'p', summary: 's' });
    await publish('same', { id, occurredAt, payload });

    const sameInstant = '2026-01-31T10:30:00.000+01:00';
    for (const given of [{ payload }, { payload: reordered, occurredAt: sameInstant, prUrl: null }])
      expect(await publish('same', { id, ...given })).toMatchObject({ created: false });
  });

  test('does not reactivate a superseded notification', async () => {
    for (const id of ['first', 'second']) await publish('past', { id });

    expect(await publish('past', { id: 'first' })).toMatchObject({
      created: false,
      notification: { status: 'RESOLVED', resolution: 'SUPERSEDED' },
    });
    expect(await find('past', 'second')).toMatchObject({ status: 'ACTIVE' });
  });

  test.each<[what: string, change: Record<string, unknown>]>([
    ['title', { title: 'Another' }],
    ['timestamp', { occurredAt: '2026-01-31T09:30:00.001Z' }],
    ['task', { task: { ...task, id: 'other' } }],
    ["task's name", { task: { ...task, name: 'N' } }],
    ["task's workspace", { task: { ...task, workspaceId: 'W' } }],
    ['project', { task: { ...task, projectId: 'other' } }],
    ['kind', { payload: payloads.question_requested }],
    ['payload', { payload: { planRequested: { toolId: 'other', input: { summary: 's', plan: 'p' } } } }],
    ['preview', { previewText: 'P' }],
    ['pull request', { prUrl: 'https://git.example/pr/1' }],
    ["project's name", { projectName: 'P' }],
    ["project's repository", { projectRepoUrl: 'https://git.example/repo' }],
  ])('and a different %s is a conflict, and changes and supersedes nothing', async (what, change) => {
    const user = `conflict ${what}`;
    const given = { id, occurredAt: '2026-01-31T09:30:00Z' };
    await publish(user, given);
    await publish(user, { id: 'successor', payload: payloads.question_requested });
    const stored = await readRows(user);

    await expect(publish(user, { ...given, ...change })).rejects.toMatchObject(
      conflict('ID_REUSED', 'input.id'),
    );
    expect(await readRows(user)).toEqual(stored);
  });
});

test('of concurrent publications with one ID and different content, one is stored; the others are conflicts', async () => {
  const rivals = Array.from({ length: 8 }, (_none, n) =>
    publish('rivals', { id: 'taken', title: `Title ${n}` }),
  );
  const refusals = (await Promise.allSettled(rivals)).filter(({ status }) => status === 'rejected');
  expect(refusals).toHaveLength(7);
  for (const refusal of refusals) expect(refusal).toMatchObject({ reason: conflict('ID_REUSED') });
});

describe('a later notification', () => {
  test('a later notification of the same task and kind supersedes the earlier one', async () => {
    await publish('supersede', { id: 'earlier' });
    const { notification: later } = await publish('supersede', { id: 'later' });
    expect(later.status).toBe('ACTIVE');
    expect(await find('supersede', 'earlier')).toMatchObject({
      status: 'RESOLVED',
      resolution: 'SUPERSEDED',
      resolvedAt: later.createdAt,
      updatedAt: later.createdAt,
    });
  });

  test('is never older than the one that it supersedes, even if a clock was ahead', async () => {
    await publish('overtaken', { id: 'earlier' });
    const time = '2999-01-01T00:00:00.000Z';
    await gateway.database.sql(
      `update notification set occurred_at = $1, created_at = $1, updated_at = $1 where user_id = 'overtaken'`,
      [time],
    );
    expect((await publish('overtaken')).notification).toMatchObject({ createdAt: time, occurredAt: time });
    expect(await find('overtaken', 'earlier')).toMatchObject({ resolvedAt: time, updatedAt: time });
  });

  test('supersedes none of another kind, task or user', async () => {
    await publish('apart', { id: 'it' });
    await publish('apart', { payload: payloads.task_failed });
    await publish('apart', { task: { ...task, id: 'other' } });
    await publish('apart-too');
    expect(await find('apart', 'it')).toMatchObject({ status: 'ACTIVE' });
  });

  test.each([
    ['supersedes none that is dismissed and asks nothing', payloads.task_failed, null, null],
    [
      'withdraws the open request of a dismissed one',
      payloads.plan_requested,
      'SUPERSEDED',
      expect.any(String),
    ],
  ])('%s, which stays dismissed', async (user, payload, resolution, resolvedAt) => {
    await publish(user, { id: 'it', payload });
    await dismiss(gateway, user, ['it']);
    await publish(user, { payload });
    expect(await find(user, 'it')).toMatchObject({ status: 'DISMISSED', resolution, resolvedAt });
  });
});

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

/** Returns the status and resolution of each of a user's notifications by ID. */
async function readStates(userId: string): Promise<Record<string, string>> {
  const rows = await gateway.database.sql(
    `select id, concat_ws(' ', status, resolution) as state from notification where user_id = $1`,
    [userId],
  );
  return Object.fromEntries(rows.map(({ id, state }) => [String(id), String(state)]));
}

test('a notification older than the latest of its task and kind is stored and sent as superseded', async () => {
  await publish('late', { id: 'newest', occurredAt: at(2) });
  const stream = await subscribeToNotifications(gateway, 'late');

  const { notification: late } = await publish('late', { id: 'late', occurredAt: at(1) });

  expect(late).toMatchObject({ status: 'RESOLVED', resolution: 'SUPERSEDED', resolvedAt: late.createdAt });
  expect(await readStates('late')).toEqual({ late: 'resolved superseded', newest: 'active' });
  expect(await nextEvent(stream)).toMatchObject({
    type: 'RESOLVED',
    notification: { id: 'late' },
    counts: { total: 1 },
  });
  stream.close();
});

describe('resolving with `before`', () => {
  test('resolves what occurred until then, also what is published later, of its task and kinds', async () => {
    await publish('upto', { id: 'at-5', occurredAt: at(5), payload: payloads.task_failed });
    await publish('upto', { id: 'plan', occurredAt: at(4) });
    await publish('upto', { id: 'at-9', occurredAt: at(9), payload: payloads.question_requested });
    const kinds = ['TASK_FAILED', 'QUESTION_REQUESTED'];
    await as(platform).resolve({
      userId: 'upto',
      taskId: task.id,
      kinds,
      reason: 'TASK_DELETED',
      before: at(5),
    });
    await publish('upto', { id: 'late-4', occurredAt: at(4), payload: payloads.question_requested });
    await publish('upto', { id: 'late-6', occurredAt: at(6), payload: payloads.task_failed });
    await publish('upto', {
      id: 'other',
      occurredAt: at(4),
      payload: payloads.task_failed,
      task: { ...task, id: 'other' },
    });
    expect(await readStates('upto')).toEqual({
      'at-5': 'resolved task_deleted',
      plan: 'active',
      'at-9': 'active',
      'late-4': 'resolved superseded',
      'late-6': 'active',
      other: 'active',
    });
  });

  test('an earlier `before` does not replace a later one', async () => {
    await resolve(gateway, 'latest', task.id, 'ANSWERED_ELSEWHERE', at(5));
    await resolve(gateway, 'latest', task.id, 'RESUMED', at(3));
    await publish('latest', { id: 'covered', occurredAt: at(4), payload: payloads.task_failed });
    expect(await readStates('latest')).toEqual({ covered: 'resolved answered_elsewhere' });
  });

  test('is optional: without it, only active notifications are resolved', async () => {
    await publish('now', { id: 'first', occurredAt: at(1), payload: payloads.task_failed });
    await resolve(gateway, 'now', task.id);
    await publish('now', { id: 'second', occurredAt: at(2), payload: payloads.task_failed });
    expect(await readStates('now')).toEqual({ first: 'resolved answered_elsewhere', second: 'active' });
  });
});

const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

test.each<[location: string, send: (time: string) => Promise<unknown>]>([
  ['input.occurredAt', (occurredAt) => publish('ahead', { occurredAt })],
  [
    'input.notifications[1].occurredAt',
    (occurredAt) =>
      as(platform).publishAll({ notifications: [draft('ahead'), draft('ahead', { occurredAt })] }),
  ],
  [
    'input.before',
    (before) => as(platform).resolve({ userId: 'ahead', taskId: 'task', reason: 'RESUMED', before }),
  ],
  [
    'input.workspaces[0].updatedAt',
    (updatedAt) =>
      as(platform).putWorkspaces({ userId: 'ahead', workspaces: [workspaceInput({ updatedAt })] }),
  ],
  [
    'input.deletedAt',
    (deletedAt) => as(platform).deleteWorkspace({ userId: 'ahead', id: workspaceInput().id, deletedAt }),
  ],
])('refuses %s more than five minutes in the future', async (location, send) => {
  await send(fromNow(280));
  await expect(send(fromNow(320))).rejects.toMatchObject(
    refused('VALIDATION_FAILED', [location, 'must not be more than five minutes in the future']),
  );
});
