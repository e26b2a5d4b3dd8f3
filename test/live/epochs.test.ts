import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { renewEpoch } from '../../src/revisions/database-epoch.ts';
import { rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, dismissBy, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { runProcess } from '../support/process.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
/** A second gateway on the same database. */
let second: TestGateway;
let database: Database;
beforeAll(async () => {
  database = await openDatabase({ url: gateway.database.url, poolSize: 1, timeoutMs: 5000 });
  second = await startTestGateway({}, gateway.database);
});
afterAll(async () => {
  await database.close();
  await second.close();
});

async function get(at: TestGateway, user: string, path: string, tag = '') {
  return rest(at, 'GET', path, { token: await member(user), headers: { 'If-None-Match': tag } });
}

const runCommand = () => runProcess('src/commands/renew-epoch.ts', { DATABASE_URL: gateway.database.url });
/** Renews the epoch as the command does. */
const renew = () => renewEpoch(database.fork());

const paths = ['/user/notifications', '/user/workspaces'];

test.each(paths)('%s: users with the same revision have different ETags', async (path) => {
  const users = paths.map((_path, index) => `${path}-${index}`);
  await gateway.database.sql(
    'insert into user_revision (user_id, notifications, workspaces) select unnest($1::text[]), 1, 1',
    [users],
  );
  const replies = await Promise.all(users.map((user) => get(gateway, user, path)));
  const [first, other] = replies.map(({ headers }) => headers.get('etag'));
  expect(first).not.toBe(other);
});

test('after the epoch is renewed, every gateway returns 200 for an old ETag, and 304 for the new one', async () => {
  await publish(gateway, 'tags');
  await putWorkspaces(gateway, 'tags', [workspaceInput()]);
  const tags = new Map<string, string>();
  for (const path of paths) tags.set(path, (await get(gateway, 'tags', path)).headers.get('etag') ?? '');
  for (const [path, tag] of tags) expect((await get(second, 'tags', path, tag)).status).toBe(304);

  expect(await runCommand()).toMatchObject({ status: 0, stderr: '' });

  for (const at of [gateway, second]) {
    for (const [path, tag] of tags) {
      const { status, headers } = await get(at, 'tags', path, tag);
      expect(status).toBe(200);
      expect((await get(at, 'tags', path, headers.get('etag') ?? '')).status).toBe(304);
    }
  }
});

test('after the epoch is renewed, an old cursor starts from the beginning and dismisses nothing', async () => {
  const { id } = await publish(gateway, 'cursors');
  const old = await currentCursor(gateway, 'cursors');

  await renew();

  expect(await dismissBy(second, 'cursors', { filter: { upTo: old } })).toEqual([]);
  const stream = await subscribeToNotifications(gateway, 'cursors', old);
  expect((await nextEvent(stream)).notification.id).toBe(id);
  stream.close();
});

test('a stream opened before the epoch was renewed ends with the next change', async () => {
  await publish(gateway, 'open');
  const stream = await subscribeToNotifications(gateway, 'open', await currentCursor(gateway, 'open'));
  await renew();
  await publish(gateway, 'open');
  expect(await stream.ended).toBe('complete');
});

test('renewing the epoch inserts its row if it is missing', async () => {
  await gateway.database.sql('delete from database_epoch');
  await renew();
  expect(await gateway.database.sql('select count(*)::int as rows from database_epoch')).toEqual([
    { rows: 1 },
  ]);
});
