import { describe, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, asPlatform, payloads } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway();

const fields = `... on UserNotification {
  id kind status occurredAt createdAt updatedAt resolvedAt resolution dismissedAt task { id }
}`;
const PUBLISH = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created channels notification { ${fields} } }
}`;
function draft(userId: string, input: Record<string, unknown> = {}) {
  const task = { id: 'task', projectId: 'project' };
  return { userId, task, title: 'A title', payload: payloads.plan_requested, ...input };
}

async function publish(input: object) {
  return (await asPlatform(gateway, PUBLISH, { input })).publishNotification;
}

async function find(userId: string, id: string) {
  const query = `query ($id: ID!) { notification(id: $id) { ${fields} } }`;
  return (await asMember(gateway, userId, query, { id })).notification;
}

describe('publishing', () => {
  test('creates an active notification with a UUID, and `occurredAt` defaults to now', async () => {
    const before = new Date().toISOString();
    const { created, notification } = await publish(draft('fresh'));
    expect(created).toBe(true);
    expect(notification).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      status: 'ACTIVE',
      occurredAt: notification.createdAt,
      updatedAt: notification.createdAt,
      resolvedAt: null,
      resolution: null,
      dismissedAt: null,
    });
    expect(notification.createdAt >= before).toBe(true);
    expect(notification.createdAt <= new Date().toISOString()).toBe(true);
  });

  test.each<[given: string, returned: string]>([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31T09:30:00.5+02:00', '2026-01-31T07:30:00.500Z'],
    ['2026-01-31T09:30:00.123999Z', '2026-01-31T09:30:00.123Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
    ['2026-01-31t09:30:00z', '2026-01-31T09:30:00.000Z'],
  ])('returns the timestamp %s as %s over both APIs', async (occurredAt, returned) => {
    const user = `time ${occurredAt}`;
    expect((await publish(draft(user, { occurredAt }))).notification.occurredAt).toBe(returned);
    const { body } = await rest(gateway, 'GET', '/user/notifications', { token: await member(user) });
    expect(body.notifications[0].occurred_at).toBe(returned);
  });

  test('derives the kind from the payload', async () => {
    for (const [kind, payload] of Object.entries(payloads)) {
      const { notification } = await publish(draft('kinds', { payload }));
      expect(notification.kind).toBe(kind.toUpperCase());
    }
  });

  test('a retry with the same ID and content returns the stored notification and changes nothing', async () => {
    const input = draft('retry', { id: 'mine' });
    const first = await publish(input);
    const stored = await gateway.database.sql(`select * from notification where user_id = 'retry'`);

    const second = await publish(input);

    expect(first.created).toBe(true);
    expect(second).toEqual({ ...first, created: false });
    expect(await gateway.database.sql(`select * from notification where user_id = 'retry'`)).toEqual(stored);
  });

  test('a retry may omit the timestamp, order keys differently, or use another time zone', async () => {
    const occurredAt = '2026-01-31T09:30:00Z';
    const createPayload = (input: object) => ({ planRequested: { toolId: 't', input } });
    const payload = createPayload({ summary: 's', plan: 'p', more: { a: 1, b: [2] } });
    await publish(draft('same', { id: 'mine', occurredAt, payload }));

    expect(await publish(draft('same', { id: 'mine', payload }))).toMatchObject({ created: false });
    const reordered = createPayload({ more: { b: [2], a: 1 }, plan: 'p', summary: 's' });
    const sameInstant = '2026-01-31T10:30:00.000+01:00';
    expect(
      await publish(draft('same', { id: 'mine', payload: reordered, occurredAt: sameInstant, prUrl: null })),
    ).toMatchObject({ created: false });
  });

  test('a retry does not reactivate a dismissed, resolved or superseded notification', async () => {
    const superseded = draft('past', { id: 'first' });
    await publish(superseded);
    await publish(draft('past', { id: 'second' }));

    expect(await publish(superseded)).toMatchObject({
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
  ])('returns CONFLICT for the same ID with a different %s, and changes nothing', async (what, change) => {
    const user = `conflict ${what}`;
    const input = draft(user, { id: 'taken', occurredAt: '2026-01-31T09:30:00Z' });
    const { notification } = await publish(input);

    const reply = await graphql(
      gateway,
      PUBLISH,
      { input: { ...input, ...change } },
      { token: await platform() },
    );

    expect(reply.data).toEqual({ publishNotification: null });
    expect(reply.errors).toHaveLength(1);
    expect(reply.errors[0].extensions).toMatchObject({
      code: 'CONFLICT',
      reason: 'ID_REUSED',
      errors: [{ location: 'input.id', value: 'taken' }],
    });
    expect(await find(user, 'taken')).toEqual(notification);
  });

  test('a later notification of the same task and kind supersedes the earlier one', async () => {
    await publish(draft('supersede', { id: 'earlier' }));
    const { notification: later } = await publish(draft('supersede', { id: 'later' }));
    expect(later.status).toBe('ACTIVE');
    expect(await find('supersede', 'earlier')).toMatchObject({
      status: 'RESOLVED',
      resolution: 'SUPERSEDED',
      resolvedAt: later.createdAt,
      updatedAt: later.createdAt,
    });
  });

  test('a later notification is never older than the one that it supersedes, even if a clock was ahead', async () => {
    await publish(draft('overtaken', { id: 'earlier' }));
    const time = '2999-01-01T00:00:00.000Z';
    await gateway.database.sql(
      `update notification set occurred_at = $1, created_at = $1, updated_at = $1 where user_id = 'overtaken'`,
      [time],
    );
    expect((await publish(draft('overtaken'))).notification).toMatchObject({
      createdAt: time,
      occurredAt: time,
    });
    expect(await find('overtaken', 'earlier')).toMatchObject({ resolvedAt: time, updatedAt: time });
  });

  test('if the later notification cannot be stored, the earlier one stays active', async () => {
    await publish(draft('whole', { id: 'earlier' }));
    await gateway.database.sql(`alter table notification add constraint no_poison check (title <> 'poison')`);

    const input = draft('whole', { title: 'poison' });
    const reply = await graphql(gateway, PUBLISH, { input }, { token: await platform() });

    expect(reply.errors[0].extensions.code).toBe('INTERNAL_ERROR');
    expect(await find('whole', 'earlier')).toMatchObject({ status: 'ACTIVE', resolvedAt: null });
  });

  test('supersedes no notification of another kind, task or user, and none that is dismissed and asks nothing', async () => {
    const failed = { payload: payloads.task_failed };
    await publish(draft('quiet', { ...failed, id: 'it' }));
    await rest(gateway, 'POST', '/user/notifications/it/dismiss', { token: await member('quiet') });
    await publish(draft('quiet', failed));
    expect(await find('quiet', 'it')).toMatchObject({
      status: 'DISMISSED',
      resolution: null,
      resolvedAt: null,
    });

    await publish(draft('apart', { id: 'it' }));
    await publish(draft('apart', { payload: payloads.task_failed }));
    await publish(draft('apart', { task: { id: 'other', projectId: 'project' } }));
    await publish(draft('apart-too'));
    expect(await find('apart', 'it')).toMatchObject({ status: 'ACTIVE' });
  });

  test('withdraws the open request of a dismissed notification, which stays dismissed', async () => {
    await publish(draft('hidden', { id: 'it' }));
    await rest(gateway, 'POST', '/user/notifications/it/dismiss', { token: await member('hidden') });
    await publish(draft('hidden'));
    expect(await find('hidden', 'it')).toMatchObject({
      status: 'DISMISSED',
      resolution: 'SUPERSEDED',
      resolvedAt: expect.any(String),
    });
  });

  test('a conflicting publication supersedes nothing', async () => {
    await publish(draft('intact', { id: 'taken', task: { id: 'elsewhere', projectId: 'project' } }));
    await publish(draft('intact', { id: 'active' }));
    await graphql(gateway, PUBLISH, { input: draft('intact', { id: 'taken' }) }, { token: await platform() });
    expect(await find('intact', 'active')).toMatchObject({ status: 'ACTIVE' });
  });
});
