import { expect, test } from 'vitest';
import { renewEpochOf } from '../support/database.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, dismissBy, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { runProcess } from '../support/process.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';

const gateway = useGateway();
/** A second gateway on the same database. */
const second = useGateway({}, gateway);

async function get(at: TestGateway, user: string, path: string, tag = '') {
  const { status, headers } = await at.as(user).rest.get(path, { headers: { 'If-None-Match': tag } });
  return { status, tag: headers.get('etag') ?? '' };
}

test.each(['/user/notifications', '/user/workspaces'])(
  'after the epoch is renewed, every gateway returns 200 for an old ETag of %s, and 304 for the new one',
  async (path) => {
    await publish(gateway, path);
    await putWorkspaces(gateway, path, [workspaceInput()]);
    const { tag: old } = await get(gateway, path, path);
    expect((await get(second, path, path, old)).status).toBe(304);

    const { url } = gateway.database;
    const { status, stderr } = await runProcess('src/commands/renew-epoch.ts', { DATABASE_URL: url });
    expect([status, stderr]).toEqual([0, '']);

    for (const at of [gateway, second]) {
      const changed = await get(at, path, path, old);
      expect(changed.status).toBe(200);
      expect((await get(at, path, path, changed.tag)).status).toBe(304);
    }
  },
);

test('users with the same revision have different ETags', async () => {
  for (const user of ['one', 'two']) await publish(gateway, user);
  const [one, two] = [
    await get(gateway, 'one', '/user/notifications'),
    await get(gateway, 'two', '/user/notifications'),
  ];
  expect(one.tag).not.toBe(two.tag);
});

test('after the epoch is renewed, an old cursor starts from the beginning and dismisses nothing', async () => {
  const { id } = await publish(gateway, 'cursors');
  const old = await currentCursor(gateway, 'cursors');

  await renewEpochOf(gateway.database);

  expect(await dismissBy(second, 'cursors', { filter: { upTo: old } })).toEqual([]);
  const stream = await subscribeToNotifications(gateway, 'cursors', old);
  expect((await nextEvent(stream)).notification.id).toBe(id);
  stream.close();
});

test('renewing the epoch inserts its row if it is missing', async () => {
  const { sql } = gateway.database;
  await sql('delete from database_epoch');
  await renewEpochOf(gateway.database);
  expect(await sql('select count(*)::int as rows from database_epoch')).toEqual([{ rows: 1 }]);
});
