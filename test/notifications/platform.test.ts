import { describe, expect, test } from 'vitest';
import { conflict } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { notification as createNotification, payloads } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const draft = (userId: string, given: object = {}) =>
  createNotification(userId, 'plan_requested', { task: { id: 'task', projectId: 'project' }, ...given });
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
    ['task', { task: { id: 'other', projectId: 'project' } }],
    ["task's name", { task: { id: 'task', projectId: 'project', name: 'N' } }],
    ["task's workspace", { task: { id: 'task', projectId: 'project', workspaceId: 'W' } }],
    ['project', { task: { id: 'task', projectId: 'other' } }],
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

  test('that cannot be stored leaves the earlier one active', async () => {
    await publish('whole', { id: 'earlier' });
    await gateway.database.sql(`alter table notification add constraint no_poison check (title <> 'poison')`);

    await expect(publish('whole', { title: 'poison' })).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
    expect(await find('whole', 'earlier')).toMatchObject({ status: 'ACTIVE', resolvedAt: null });
  });

  test('supersedes none of another kind, task or user', async () => {
    await publish('apart', { id: 'it' });
    await publish('apart', { payload: payloads.task_failed });
    await publish('apart', { task: { id: 'other', projectId: 'project' } });
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
