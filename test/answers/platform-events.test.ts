import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { SCAN_LIMIT } from '../../src/platform-feed/read-feed.ts';
import { deleteOldEvents } from '../../src/platform-feed/retention.ts';
import { formatEventCursor, parseEventCursor } from '../../src/revisions/event-cursor.ts';
import { toTime } from '../../src/values/time.ts';
import { refused } from '../support/as.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { credentialVersion, deleteUser, publish } from '../support/records.ts';
import { subscribe } from '../support/sse.ts';
import { platform } from '../support/tokens.ts';
import {
  FEED_SUBSCRIPTION,
  followFeed,
  latestCursor,
  readFeedPage,
  readWholeFeed,
  takeEvent,
} from './platform-feed.ts';

let chat: ChatApi;
let database: TestDatabase;
let opened: Database;
let gateway: TestGateway;
beforeAll(async () => {
  chat = await startChatApi();
  database = await createTestDatabase();
  opened = await openDatabase({ url: database.url, poolSize: 2, timeoutMs: 5000 });
  const delivery = { CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url, LIVE_SWEEP_MS: '200' };
  gateway = await startTestGateway({ ...settingsFor(database), ...delivery }, database);
});
afterAll(async () => {
  await gateway.close();
  await opened.close();
  await database.drop();
  await chat.close();
});

const store = (userId: string) =>
  gateway.as(userId).connectEditor({ accessToken: 'access', refreshToken: 'refresh' });
const refresh = async (userId: string, version: string): Promise<string> => {
  const accessToken = `after-${version}`;
  return gateway.as(platform).refreshCredential({ userId, version, accessToken, refreshToken: 'next' });
};
const reportFailure = (userId: string, version: string) =>
  gateway.as(platform).reportEditorFailure({ userId, version, reason: 'TOKEN_REVOKED' });

/** Waits until every event has a position. */
const settle = () =>
  eventually(async () =>
    expect(await database.sql('select from platform_event where position is null')).toEqual([]),
  );

/** Returns the events of a user in the feed. */
async function eventsOf(userId: string) {
  await settle();
  return (await readWholeFeed(gateway)).filter((event) => event.userId === userId);
}

const cursorAt = async (revision: number) =>
  formatEventCursor({ ...parseEventCursor(await latestCursor(gateway), []), revision });

const positionOf = (cursor: string) => parseEventCursor(cursor, []).revision;

/** Inserts events of a user, without positions, as a change would. */
const insertEvents = (userId: string, count: number, age = '0 days', type = 'contact.suspended') =>
  database.sql(
    `insert into platform_event (user_id, type, at)
     select $1, $2, now() - $3::interval from generate_series(1, $4::int)`,
    [userId, type, age, count],
  );

describe('a change writes an event', () => {
  test('when an editor credential is stored, refreshed, reported and deleted, once each', async () => {
    await store('alice');
    const first = await credentialVersion(gateway, 'alice');
    const second = await refresh('alice', first);
    await refresh('alice', first);
    await reportFailure('alice', first);
    await reportFailure('alice', second);
    await reportFailure('alice', second);
    for (const _ of ['once', 'again']) await gateway.as('alice').disconnectEditor();

    const events = await eventsOf('alice');

    expect(events.map(({ type, credentialVersion: version }) => [type, version])).toEqual([
      ['EDITOR_CREDENTIAL_STORED', first],
      ['EDITOR_CREDENTIAL_REFRESHED', second],
      ['EDITOR_CREDENTIAL_NEEDS_REAUTH', second],
      ['EDITOR_CREDENTIAL_DELETED', second],
    ]);
    for (const { at, notificationId, taskId, channel } of events) {
      expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
      expect([notificationId, taskId, channel]).toEqual([null, null, null]);
    }
  });

  test('when a contact is suspended, once, and again after the contact was replaced', async () => {
    await putContact(gateway, 'bob', { chatMemberId: 'U-bob' });
    const suspend = async () => {
      chat.setAnswer({ error: 'user_not_found' });
      await publish(gateway, 'bob');
    };
    await suspend();
    const readTypes = async () => (await eventsOf('bob')).map(({ type, channel }) => [type, channel]);
    await eventually(async () => expect(await readTypes()).toEqual([['CONTACT_SUSPENDED', 'CHAT_DM']]));

    await putContact(gateway, 'bob', { chatMemberId: 'U-bob' });
    await suspend();

    const suspended = ['CONTACT_SUSPENDED', 'CHAT_DM'];
    await eventually(async () => expect(await readTypes()).toEqual([suspended, suspended]));
  });

  test('when a user is deleted, in place of the earlier events, unless there was nothing', async () => {
    await deleteUser(gateway, 'carol');
    expect(await eventsOf('carol')).toEqual([]);

    await store('carol');
    const [stored] = await eventsOf('carol');
    await deleteUser(gateway, 'carol');
    const [deleted, ...others] = await eventsOf('carol');
    expect([stored?.type, deleted?.type, others]).toEqual(['EDITOR_CREDENTIAL_STORED', 'USER_DELETED', []]);
    expect(positionOf(deleted?.cursor ?? '')).toBeGreaterThan(positionOf(stored?.cursor ?? ''));

    await deleteUser(gateway, 'carol');
    expect(await eventsOf('carol')).toEqual([deleted]);
    await store('carol');
    await deleteUser(gateway, 'carol');
    expect((await eventsOf('carol')).map(({ type }) => type)).toEqual(['USER_DELETED']);
  });
});

describe('a page', () => {
  beforeAll(async () => {
    await insertEvents('pages', 150);
    await insertEvents('pages', 1, '0 days', 'user.deleted');
    await settle();
  });

  test('has up to 100 events from the oldest one, or as many as requested, and continues without gap or repetition', async () => {
    const whole = await readWholeFeed(gateway);
    const { events, hasMore } = await readFeedPage(gateway);
    expect([events.length, hasMore]).toEqual([100, true]);

    for (const first of [1, 7, 1000]) expect(await readWholeFeed(gateway, { first })).toEqual(whole);

    const cursors = whole.map(({ cursor }) => positionOf(cursor));
    expect(cursors).toEqual([...new Set(cursors)].sort((a, b) => a - b));
    for (const event of whole.slice(-3)) {
      const rest = await readWholeFeed(gateway, { after: event.cursor });
      expect(rest).toEqual(whole.slice(whole.indexOf(event) + 1));
    }
  });

  test('at the end is empty and returns the same cursor, which is the latest', async () => {
    const after = await latestCursor(gateway);

    expect(await readFeedPage(gateway, { after })).toEqual({ events: [], cursor: after, hasMore: false });
  });

  test('with types has only these, and its cursor is past the others', async () => {
    const after = (await readWholeFeed(gateway)).find(({ userId }) => userId === 'pages')?.cursor;

    const page = await readFeedPage(gateway, { after, types: ['USER_DELETED'] });
    expect(page.events.map(({ type, userId }) => [type, userId])).toEqual([['USER_DELETED', 'pages']]);
    expect([page.cursor, page.hasMore]).toEqual([await latestCursor(gateway), false]);

    const none = await readFeedPage(gateway, { types: [] });
    expect([none.events, none.cursor]).toEqual([[], page.cursor]);
  });

  test('scans a limited number of positions, and then is empty although there are more', async () => {
    const after = await latestCursor(gateway);
    await insertEvents('many', SCAN_LIMIT + 1);
    await insertEvents('many', 1, '0 days', 'user.deleted');
    await settle();

    const page = await readFeedPage(gateway, { after, types: ['USER_DELETED'] });
    expect(page).toMatchObject({ events: [], hasMore: true });
    expect(positionOf(page.cursor)).toBe(positionOf(after) + SCAN_LIMIT);
  });

  test.each([0, 1001])('of %d events is refused', async (first) => {
    await expect(gateway.as(platform).platformEvents({ first })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', 'first'),
    );
  });
});

describe('a cursor', () => {
  const request = (after: string) => readFeedPage(gateway, { after }).catch((refusal) => refusal);
  const open = async (after: string) =>
    (await subscribe(gateway, FEED_SUBSCRIPTION, { after }, { token: await platform() })).errors[0]
      ?.extensions;
  const expired = {
    code: 'CONFLICT',
    reason: 'CURSOR_EXPIRED',
    errors: [{ location: 'after', value: expect.any(String) }],
  };

  test.each(['', 'x', 'WyJhIl0'])('%j is not one: VALIDATION_FAILED', async (after) => {
    const expected = { code: 'VALIDATION_FAILED', errors: [{ location: 'after', value: after }] };

    expect(await request(after)).toMatchObject(expected);
    expect(await open(after)).toMatchObject(expected);
  });

  test('ahead of the feed or of another epoch has expired', async () => {
    const latest = parseEventCursor(await latestCursor(gateway), []);
    const wrong = [
      await cursorAt(latest.revision + 1),
      formatEventCursor({ epoch: '0.0', revision: latest.revision }),
    ];

    for (const after of wrong) {
      expect(await request(after)).toMatchObject(expired);
      expect(await open(after)).toMatchObject(expired);
    }
  });

  test('expires when events after it are deleted because of their age', async () => {
    const start = await latestCursor(gateway);
    const first = positionOf(start) + 1;
    await insertEvents('aging', 3, '8 days');
    await insertEvents('aging', 1, '6 days');
    await insertEvents('aging', 1, '8 days');
    await settle();
    // Makes the earlier events old, too.
    await database.sql(`update platform_event set at = now() - interval '9 days' where position < $1`, [
      first,
    ]);
    const lagging = await followFeed(gateway);

    const before = toTime(new Date(Date.now() - 7 * 86_400_000));
    let deleted = 0;
    for (let batch = 1; batch > 0; deleted += batch) batch = await deleteOldEvents(opened.fork(), before);

    expect(deleted).toBeGreaterThan(2);
    expect(await request(start)).toMatchObject(expired);
    expect(await request(await cursorAt(first + 1))).toMatchObject(expired);
    const left = await readWholeFeed(gateway);
    expect(left.map(({ cursor }) => positionOf(cursor))).toEqual([first + 3, first + 4]);
    expect(await readWholeFeed(gateway, { after: await cursorAt(first + 2) })).toEqual(left);
    expect(await deleteOldEvents(opened.fork(), before)).toBe(0);

    // Its first batch was read before the deletion, or it has expired.
    let end = await lagging.take();
    while (end.errors.length === 0) end = await lagging.take();
    expect(end.errors[0].extensions).toMatchObject({ code: 'CONFLICT', reason: 'CURSOR_EXPIRED' });
    expect(await lagging.ended).toBe('complete');
  });
});

test('a gateway deletes events that are older than seven days when it starts', async () => {
  await insertEvents('retained', 3, '8 days');
  await insertEvents('retained', 1, '6 days');
  await settle();
  await database.sql(
    `update platform_event set at = now() - interval '8 days' where user_id <> 'retained' and position is not null`,
  );

  const another = await startTestGateway(settingsFor(database), database);
  await eventually(async () => expect(await eventsOf('retained')).toHaveLength(1));
  await another.close();
});

describe('a subscription', () => {
  test('delivers events from the oldest one or after a cursor, then each new one, of the given types', async () => {
    const whole = await readWholeFeed(gateway);
    const all = await followFeed(gateway);
    const deletions = await followFeed(gateway, {
      after: await latestCursor(gateway),
      types: ['USER_DELETED'],
    });
    for (const event of whole) expect(await takeEvent(all)).toEqual(event);

    await store('eve');
    await deleteUser(gateway, 'eve');

    const deleted = await takeEvent(deletions);
    expect([deleted.type, deleted.userId]).toEqual(['USER_DELETED', 'eve']);
    let last = await takeEvent(all);
    while (last.type !== 'USER_DELETED') last = await takeEvent(all);
    expect(last).toEqual(deleted);
    all.close();
    deletions.close();
  });

  test('ends with CURSOR_EXPIRED when the epoch of the database is renewed', async () => {
    const stream = await followFeed(gateway, { after: await latestCursor(gateway) });
    await database.sql('update database_epoch set epoch = gen_random_uuid()');

    expect((await stream.take()).errors[0].extensions).toMatchObject({ reason: 'CURSOR_EXPIRED' });
    expect(await stream.ended).toBe('complete');
  });

  test('counts among the 20 streams of a token subject', async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => followFeed(gateway)));

    await expect(followFeed(gateway)).rejects.toThrow('RATE_LIMITED');
    for (const stream of streams) stream.close();
    await eventually(async () => (await followFeed(gateway)).close());
  });
});
