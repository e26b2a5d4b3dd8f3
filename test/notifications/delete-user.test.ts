import { expect, test } from 'vitest';
import { entities } from '../../src/entities.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish, putWorkspaces, resolve, workspaceInput } from '../support/records.ts';
import { openStream } from '../support/sse.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const deleteUser = (userId: string) => as(platform).deleteUser({ userId });

async function fill(user: string): Promise<void> {
  const { rest } = as(user);
  await publish(gateway, user, 'task_failed', { id: 'n' });
  await resolve(gateway, user, 'task', 'ANSWERED_ELSEWHERE', new Date().toISOString());
  const [id = ''] = await putWorkspaces(gateway, user, [workspaceInput(), workspaceInput()]);
  await as(platform).deleteWorkspace({ userId: user, id, deletedAt: new Date().toISOString() });
  await rest.put('/user/notification-preferences', { preferences: [] });
  await rest.put('/editor/auth/subscription', { accessToken: 'a', refreshToken: 'r' });
  await as(platform).putContact({ userId: user, email: 'a@example.com' });
  await gateway.database.sql(
    `insert into push_subscription values ($1, $1, 'push.example.com', '', 'k1', now(), now())`,
    [user],
  );
  await gateway.database.sql(
    `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at, updated_at)
     values ($1, 'n', 'email', '', 'email', 'pending', now(), now(), now(), now())`,
    [user],
  );
}

/** Tables with rows of users. */
const tables = entities.filter(({ meta }) => 'userId' in meta.properties);

const nothing = Object.fromEntries(tables.map(({ meta }) => [meta.tableName, 0]));

/** The event of the deletion, which replaces those of the user. */
const onlyItsEvent = { ...nothing, platform_event: 1 };

/** Counts a user's rows in each of these tables. */
async function countRows(user: string): Promise<Record<string, number>> {
  const counts = tables.map(async ({ meta: { tableName } }) => {
    const rows = await gateway.database.sql(`select from ${tableName} where user_id = $1`, [user]);
    return [tableName, rows.length] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

test("deletes the user's rows in every table except for its event, and no rows of other users", async () => {
  await fill('deleted');
  await fill('other');
  const others = await countRows('other');
  expect(Object.values(others).every((count) => count > 0)).toBe(true);

  expect(await deleteUser('deleted')).toBe(true);

  expect(await countRows('deleted')).toEqual(onlyItsEvent);
  expect(await countRows('other')).toEqual(others);
});

test('returns false for an unknown or deleted user, and stores nothing', async () => {
  expect(await deleteUser('nobody')).toBe(false);
  await fill('once');
  expect([await deleteUser('once'), await deleteUser('once')]).toEqual([true, false]);

  expect([await countRows('once'), await countRows('nobody')]).toEqual([onlyItsEvent, nothing]);
});

test('ends all of the user’s subscriptions on every gateway, but not those of others', async () => {
  const second = await startTestGateway({}, gateway.database);
  await fill('watching');
  const token = await member('watching');
  const streams = await Promise.all(
    [gateway, second].flatMap((at) => [
      openStream(at, 'subscription { notificationEvents { cursor } }', {}, { token }),
      openStream(at, 'subscription { workspaceEvents { workspaceId } }', {}, { token }),
      openStream(at, 'subscription { editorAuthEvents { editorAuth { needsReauth } } }', {}, { token }),
    ]),
  );
  const other = await subscribeToNotifications(second, 'bystander');

  await deleteUser('watching');

  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(Array(6).fill('complete'));
  await publish(gateway, 'bystander', 'task_failed', { id: 'n' });
  expect((await nextEvent(other)).notification.id).toBe('n');
  other.close();
  await second.close();
});

test('old cursors of a deleted user miss no changes after the user is created again', async () => {
  for (const id of ['a', 'b', 'c']) await publish(gateway, 'back', 'task_failed', { id });
  const old = await currentCursor(gateway, 'back');
  await deleteUser('back');
  const between = await subscribeToNotifications(gateway, 'back', old);
  await publish(gateway, 'back', 'task_failed', { id: 'new' });
  const later = await subscribeToNotifications(gateway, 'back', old);

  for (const stream of [between, later]) {
    expect(await nextEvent(stream)).toMatchObject({ notification: { id: 'new' }, counts: { total: 1 } });
    stream.close();
  }
});
