import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ValidationError } from '../../src/errors/gateway-errors.ts';
import { formatEventCursor, parseEventCursor, resolveRevision } from '../../src/revisions/event-cursor.ts';
import { renewEpochOf } from '../support/database.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { runProcess } from '../support/process.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';

describe('an event cursor', () => {
  const cursors = fc.record({
    epoch: fc.oneof(
      fc.constant(''),
      fc.tuple(fc.uuid(), fc.uuid()).map((epochs) => epochs.join('.')),
    ),
    revision: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  });

  test('is URL-safe, and parsing it returns the original', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        const text = formatEventCursor(cursor);
        expect(text).toMatch(/^[\w-]+$/);
        expect(parseEventCursor(text, [])).toEqual(cursor);
      }),
    );
  });

  test('is rejected, naming the argument, if it is no cursor', () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const texts = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.jsonValue().map(encode),
      fc.array(fc.oneof(fc.double(), fc.integer())).map(encode),
      cursors.map((cursor) => `${formatEventCursor(cursor)}=`),
      cursors.map((cursor) => ` ${formatEventCursor(cursor)}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(formatEventCursor(parseEventCursor(text, ['after']))).toBe(text);
        } catch (error) {
          expect(error).toBeInstanceOf(ValidationError);
          expect(error).toMatchObject({ issues: [{ path: ['after'], value: text }] });
        }
      }),
    );
  });

  test.each([
    ['of the current epoch', 'a', 7, 7],
    ['of the current epoch, at the latest revision', 'a', 9, 9],
    ['of another epoch', 'b', 7, 0],
    ['from before the user had any records', '', 0, 0],
    ['ahead of the latest revision', 'a', 10, 0],
  ])(
    '%s resumes at its revision, or from the start if it does not apply',
    (_what, epoch, revision, expected) => {
      const latest = { epoch: 'a', notifications: 9, workspaces: 0, editorAuth: 0 };
      expect(resolveRevision({ epoch, revision }, latest)).toBe(expected);
    },
  );
});

describe('after the epoch of the database is renewed', () => {
  const gateway = useGateway();
  /** A second gateway on the same database. */
  const second = useGateway({}, gateway);

  async function get(at: TestGateway, user: string, path: string, tag = '') {
    const { status, headers } = await at.as(user).rest.get(path, { headers: { 'If-None-Match': tag } });
    return { status, tag: headers.get('etag') ?? '' };
  }

  test.each(['/user/notifications', '/user/workspaces'])(
    'every gateway returns 200 for an old ETag of %s, and 304 for the new one',
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
    const { tag } = await get(gateway, 'one', '/user/notifications');
    expect((await get(gateway, 'two', '/user/notifications')).tag).not.toBe(tag);
  });

  test('an old cursor starts from the beginning and dismisses nothing', async () => {
    const { id } = await publish(gateway, 'cursors');
    const old = await currentCursor(gateway, 'cursors');

    await renewEpochOf(gateway.database);

    expect(await dismiss(second, 'cursors', { filter: { upTo: old } })).toEqual([]);
    const stream = await subscribeToNotifications(gateway, 'cursors', old);
    expect((await nextEvent(stream)).notification.id).toBe(id);
    stream.close();
  });

  test('it exists even if it was missing', async () => {
    const { sql } = gateway.database;
    await sql('delete from database_epoch');
    await renewEpochOf(gateway.database);
    expect(await sql('select count(*)::int as rows from database_epoch')).toEqual([{ rows: 1 }]);
  });
});
