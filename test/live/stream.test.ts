import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { Pipeline } from '../../src/database/pipeline.ts';
import { GoingAwayError } from '../../src/errors/gateway-errors.ts';
import { type Change, createHub, type Hub } from '../../src/live/hub.ts';
import { type Source, SourceReader } from '../../src/live/source.ts';
import { openStream } from '../../src/live/stream.ts';
import { createLog } from '../../src/log.ts';
import { createNotificationSource } from '../../src/notifications/notification-events.ts';
import { findRevisions } from '../../src/revisions/revisions.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/*
 * Tests of the stream between announcements and a client in situations that a client cannot create: announcements
 * during a read. The source here is a list.
 */

let database: TestDatabase;
let opened: Database;
let hub: Hub;
beforeAll(async () => {
  database = await createTestDatabase();
  opened = await openDatabase({ url: database.url, poolSize: 2, timeoutMs: 5000 });
  hub = createHub(20);
});
afterAll(async () => {
  await opened.close();
  await database.drop();
});

const silent = createLog('silent', { write: () => undefined });

type Item = { value: number; revision: number };

/** Creates a user with a list of changes; the first one has revision 1. */
async function startList(userId: string, list: number[] = []) {
  await database.sql('insert into user_revision (user_id, notifications) values ($1, $2)', [
    userId,
    list.length,
  ]);
  let reads = 0;
  const read: Source<Item>['read'] = async (after) => {
    reads += 1;
    const events = list.slice(after).map((value, i) => ({ value, revision: after + i + 1 }));
    return { events, seen: list.length };
  };
  const source: Source<Item> = { topic: 'notifications', getStartRevision: () => 0, read };
  const viewer = {
    userId,
    scopes: new Set<never>(),
    isMember: true,
    expiresAt: Date.now() + 3_600_000,
    signedBy: '',
  };
  const change: Change = { user: userId, topic: 'notifications', revision: list.length };
  return {
    source,
    reads: () => reads,
    open: (own: Partial<Source<Item>> = {}, of = hub) =>
      openStream(
        { viewer, hub: of, log: silent, onLeave: () => undefined },
        new SourceReader(opened, {
          userId,
          sources: [{ ...source, ...own }],
          start: () => ({ seen: [0], first: [] }),
          deliver: ({ value }) => value,
        }),
      ),
    store,
    /** Stores changes and announces each. */
    async commit(...values: number[]) {
      await store(...values);
      for (const [index] of values.entries()) {
        hub.wake({ ...change, revision: list.length - values.length + index + 1 });
      }
    },
  };

  /** Stores changes without announcing them. */
  async function store(...values: number[]) {
    list.push(...values);
    await database.sql('update user_revision set notifications = $2 where user_id = $1', [
      userId,
      list.length,
    ]);
  }
}

test('reads a change that is announced during a read next', async () => {
  const list = await startList('meanwhile', [1]);
  const stream = await list.open({
    async read(after, state) {
      const batch = await list.source.read(after, state);
      if (after === 0) await list.commit(2);
      return batch;
    },
  });

  expect([(await stream.next()).value, (await stream.next()).value]).toEqual([1, 2]);
  await stream.return?.();
});

test('concurrent callers receive successive events', async () => {
  const list = await startList('turns', [1]);
  const stream = await list.open();
  const asked = [stream.next(), stream.next(), stream.next()];
  await asked[0];
  await list.commit(2, 3);

  expect((await Promise.all(asked)).map(({ value }) => value)).toEqual([1, 2, 3]);
  await stream.return?.();
});

test('resolves waiting callers and frees a slot when the client disconnects', async () => {
  const list = await startList('leaving');
  const stream = await list.open();
  const waiting = [stream.next(), stream.next()];
  expect(hub.size).toBe(1);

  await stream.return?.();

  expect(await Promise.all(waiting)).toEqual(Array(2).fill({ done: true, value: undefined }));
  expect(hub.size).toBe(0);
});

test('reads nothing until an event is requested, however much is announced', async () => {
  const list = await startList('unasked');
  const stream = await list.open();
  await list.commit(...Array.from({ length: 1000 }, (_, number) => number));
  expect(list.reads()).toBe(0);

  expect((await stream.next()).value).toBe(0);
  expect(list.reads()).toBe(1);
  await stream.return?.();
});

test('ignores announcements of other topics, known revisions and other users', async () => {
  const list = await startList('known', [1]);
  const stream = await list.open();
  await stream.next();
  const waiting = stream.next();
  hub.wake({ user: 'known', topic: 'workspaces', revision: 6 });
  hub.wake({ user: 'known', topic: 'notifications', revision: 1 });
  hub.wake({ user: 'another', topic: 'notifications', revision: 6 });
  await new Promise(setImmediate);
  expect(list.reads()).toBe(1);

  await list.commit(2);
  expect((await waiting).value).toBe(2);
  expect(list.reads()).toBe(2);
  await stream.return?.();
});

test('retries a failed read without losing events', async () => {
  const list = await startList('failing', [1]);
  let isUnavailable = true;
  const stream = await list.open({
    async read(after, state) {
      if (isUnavailable) throw new Error('unavailable');
      return list.source.read(after, state);
    },
  });
  const waiting = stream.next();
  isUnavailable = false;

  expect((await waiting).value).toBe(1);
  await stream.return?.();
});

test('a sweep reads unannounced changes, and nothing that was already read', async () => {
  const list = await startList('swept', [1]);
  const stream = await list.open();
  await stream.next();
  const waiting = stream.next();
  const sweep = async () => hub.catchUp('swept', await findRevisions(opened, 'swept'));
  await sweep();
  await new Promise(setImmediate);
  expect(list.reads()).toBe(1);

  await list.store(2);
  await sweep();
  expect((await waiting).value).toBe(2);
  await stream.return?.();
});

test('a stream opened after the hub was closed ends immediately', async () => {
  const closed = createHub(1);
  closed.close();
  const list = await startList('late', [1]);
  const stream = await list.open({}, closed);

  await expect(stream.next()).rejects.toThrow(GoingAwayError);
  expect((await stream.next()).done).toBe(true);
  expect(closed.size).toBe(0);
});

test('the counts of events are read after the changes, so that they cannot be older', async () => {
  await database.sql(`insert into user_revision (user_id, notifications) values ('counted', 1)`);
  await insertNotifications(database, 'counted', 1);
  const steps: string[] = [];
  const { short } = opened;
  const query = vi.spyOn(short, 'query').mockImplementation(async (statement) => {
    const what = statement.text.includes('count(*)') ? 'counts' : 'changes';
    steps.push(`${what} sent`);
    const rows = await Pipeline.prototype.query.call(short, statement);
    steps.push(`${what} read`);
    return rows;
  });
  try {
    const source = createNotificationSource(opened, 'counted', undefined);
    const { events } = await source.read(0, await findRevisions(opened, 'counted'));
    expect(events).toHaveLength(1);
  } finally {
    query.mockRestore();
  }
  expect(steps.slice(-4)).toEqual(['changes sent', 'changes read', 'counts sent', 'counts read']);
});
