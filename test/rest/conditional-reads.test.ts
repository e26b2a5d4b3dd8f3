import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { deleteBatch } from '../../src/notifications/retention.ts';
import { toTime } from '../../src/values/time.ts';
import { rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { publish, putWorkspaces, resolve, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const INBOX = '/user/notifications';
const WORKSPACES = '/user/workspaces';
const RUNNING = `${WORKSPACES}?project_id=project-1&status=running`;
const task = { id: 'task', projectId: 'project' };
const workspace = { id: randomUUID(), updatedAt: '2026-01-01T00:00:00.000Z' };

const gateway = useGateway();
const { as } = gateway;

const get = (user: string, path: string, tag?: string) =>
  as(user).rest.get(path, { ...(tag !== undefined && { headers: { 'If-None-Match': tag } }) });

async function readTag(user: string, path: string): Promise<string> {
  const { status, headers } = await get(user, path);
  expect(status).toBe(200);
  return headers.get('etag') ?? '';
}

const put = (user: string, updatedAt = workspace.updatedAt, status = 'RUNNING') =>
  putWorkspaces(gateway, user, [workspaceInput({ ...workspace, updatedAt, status })]);
const remove = (userId: string, deletedAt = '2026-01-02T00:00:00.000Z') =>
  as(platform).deleteWorkspace({ userId, id: workspace.id, deletedAt });
const removeLater = (userId: string) => remove(userId, '2026-01-03T00:00:00.000Z');
const deleteUser = (userId: string) => as(platform).deleteUser({ userId });
const dismiss = (user: string, id = 'n') => as(user).dismissAll({ ids: [id] });

async function removeExpired(): Promise<void> {
  const database = await openDatabase({ url: gateway.database.url, poolSize: 1, timeoutMs: 5000 });
  try {
    const dependencies = { database, announce: () => undefined };
    while (await deleteBatch(dependencies, toTime(new Date(Date.now() + 1000))));
  } finally {
    await database.close();
  }
}

type Act = (user: string) => Promise<unknown>;
const publishFirst: Act = (user) => publish(gateway, user, 'task_failed', { id: 'n', task });
/** Does one after the other. */
const inTurn =
  (...acts: Act[]): Act =>
  async (user) => {
    for (const act of acts) await act(user);
  };
const dismissFirst = inTurn(publishFirst, dismiss);

test.each<[what: string, path: string, before: Act, change: Act, isUnchanged?: boolean]>([
  ['publishing', INBOX, publishFirst, (user) => publish(gateway, user)],
  ['superseding', INBOX, publishFirst, (user) => publish(gateway, user, 'task_failed', { task })],
  ['resolving', INBOX, publishFirst, (user) => resolve(gateway, user, task.id)],
  ['dismissing one', INBOX, publishFirst, (user) => as(user).dismiss({ id: 'n' })],
  ['dismissing many', INBOX, publishFirst, dismiss],
  ['removing expired records', INBOX, dismissFirst, removeExpired],
  ['deleting the user', INBOX, publishFirst, deleteUser],
  ['deleting and recreating the user', INBOX, publishFirst, inTurn(deleteUser, publishFirst)],
  ['putting a workspace', WORKSPACES, deleteUser, put],
  ['changing a workspace', WORKSPACES, put, (user) => put(user, '2026-01-01T00:00:01.000Z')],
  ['deleting a workspace', WORKSPACES, put, remove],
  ['stopping a workspace', RUNNING, put, (user) => put(user, '2026-01-01T00:00:01.000Z', 'STOPPED')],
  ['deleting the user', WORKSPACES, put, deleteUser],
  ['deleting and recreating the user', WORKSPACES, put, inTurn(deleteUser, put)],
  ['a second dismissal', INBOX, dismissFirst, dismiss, true],
  ['publishing the same notification again', INBOX, publishFirst, publishFirst, true],
  ['dismissing an unknown notification', INBOX, publishFirst, (user) => dismiss(user, 'unknown'), true],
  ['putting an older state', WORKSPACES, put, (user) => put(user, '2025-01-01T00:00:00.000Z'), true],
  ['deleting a deleted workspace', WORKSPACES, inTurn(put, remove), removeLater, true],
  ['a change of the other list', WORKSPACES, put, publishFirst, true],
])('after %s a client of %s receives the list once if it changed, and then 304', async (...row) => {
  const [what, path, before, change, isUnchanged = false] = row;
  const user = `${what} ${path}`;
  await before(user);
  const old = await readTag(user, path);
  expect((await get(user, path, old)).status).toBe(304);

  await change(user);

  const { status, headers } = await get(user, path, old);
  expect(status).toBe(isUnchanged ? 304 : 200);
  expect((await get(user, path, headers.get('etag') ?? '')).status).toBe(304);
});

describe.each([INBOX, WORKSPACES])('%s', (path) => {
  test('returns an ETag with Cache-Control: private; a 304 repeats both and has no body', async () => {
    const first = await get('headers', path);
    const tag = first.headers.get('etag') ?? '';
    const second = await get('headers', path, tag);

    expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect([second.status, second.text]).toEqual([304, '']);
    for (const { headers } of [first, second]) {
      expect(headers.get('etag')).toBe(tag);
      expect(headers.get('cache-control')).toBe('private, no-cache');
      expect(headers.get('vary')).toMatch(/\bAuthorization\b/);
    }
    expect(second.headers.get('content-type')).toBeNull();
  });

  test.each([
    ['the weak form of the ETag', (tag: string) => `W/${tag}`, 304],
    ['a list that contains the ETag', (tag: string) => `"other", W/"more" , ${tag}`, 304],
    ['*', () => '*', 304],
    ['another ETag', () => '"other"', 200],
    ['the ETag without quotes', (tag: string) => tag.slice(1, -1), 200],
    ['an empty value', () => '', 200],
  ])(
    'returns the status required by RFC 9110, section 13.1.2, for If-None-Match with %s',
    async (_what, of, expected) => {
      const tag = await readTag('forms', path);

      expect((await get('forms', path, of(tag))).status).toBe(expected);
    },
  );

  test('returns errors regardless of If-None-Match', async () => {
    expect((await get('issues', `${path}?limit=0`, '*')).status).toBe(400);
    expect((await rest(gateway, 'GET', path, { headers: { 'If-None-Match': '*' } })).status).toBe(401);
  });
});

test('a change during a read never leaves a client with the old list under the new ETag', async () => {
  const user = 'racing';
  await publishFirst(user);
  const locker = new pg.Client({ connectionString: gateway.database.url });
  await locker.connect();
  try {
    await locker.query('begin; lock table user_revision');
    const reading = get(user, INBOX);
    await eventually(async () => expect(await waitingSessions(gateway.database)).toBe(1));
    await locker.query(
      `update notification set status = 'dismissed', revision = 2 where user_id = '${user}'`,
    );
    await locker.query(`update user_revision set notifications = 2 where user_id = '${user}'; commit`);
    const { headers, body } = await reading;
    const { status } = await get(user, INBOX, headers.get('etag') ?? '');

    expect([status, body.notifications[0].status]).not.toEqual([304, 'active']);
  } finally {
    await locker.end();
  }
});
