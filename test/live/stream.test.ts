import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { Pipeline } from '../../src/database/pipeline.ts';
import { GoingAwayError } from '../../src/errors/gateway-errors.ts';
import { createHub } from '../../src/live/hub.ts';
import { type Source, SourceReader } from '../../src/live/source.ts';
import { openStream } from '../../src/live/stream.ts';
import { createLog } from '../../src/log.ts';
import { createNotificationSource } from '../../src/notifications/notification-events.ts';
import { findRevisions } from '../../src/revisions/revisions.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { openTestDatabase, type TestDatabase } from '../support/database.ts';

/*
 * Tests of the stream between announcements and a client in situations that a client cannot create: announcements
 * during a read. The source here is a list.
 */

let database: TestDatabase;
let opened: Database;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ database, opened, close } = await openTestDatabase(2));
});
afterAll(() => close());

const hub = createHub(20);
const log = createLog('silent', { write: () => undefined });

type Item = { value: number; revision: number };
type Read = Source<Item>['read'];

/** Opens a stream of a user's list of changes, of which the first has revision 1. */
async function openList(userId: string, list: number[] = [], { of = hub, wrap = (read: Read) => read } = {}) {
  let reads = 0;
  const read: Read = async (after) => {
    reads += 1;
    const events = list.slice(after).map((value, i) => ({ value, revision: after + i + 1 }));
    return { events, seen: list.length };
  };
  const store = () =>
    database.sql(
      `insert into user_revision (user_id, notifications) values ($1, $2)
       on conflict (user_id) do update set notifications = excluded.notifications`,
      [userId, list.length],
    );
  await store();
  const viewer = {
    userId,
    caller: userId,
    scopes: new Set<never>(),
    isMember: true,
    expiresAt: Infinity,
    signedBy: '',
  };
  const source: Source<Item> = {
    topic: 'notifications',
    isState: false,
    getStartRevision: () => 0,
    read: wrap(read),
  };
  const reader = new SourceReader(opened, {
    userId,
    sources: [source],
    start: () => ({ seen: [0], first: [] }),
    deliver: ({ value }) => value,
  });
  return {
    stream: await openStream({ viewer, hub: of, log, onLeave: () => undefined }, reader),
    reads: () => reads,
    /** Stores a change and announces it. */
    async commit(value: number) {
      list.push(value);
      await store();
      hub.wake({ user: userId, topic: 'notifications', revision: list.length });
    },
  };
}

test('reads a change that is announced during a read next', async () => {
  const list = await openList('meanwhile', [1], {
    wrap: (read) => async (after, state) => {
      const batch = await read(after, state);
      if (after === 0) await list.commit(2);
      return batch;
    },
  });
  expect([(await list.stream.next()).value, (await list.stream.next()).value]).toEqual([1, 2]);
  await list.stream.return?.();
});

test('ignores announcements of other topics, known revisions and other users, and sweeps without news', async () => {
  const { stream, reads, commit } = await openList('known', [1]);
  await stream.next();
  const waiting = stream.next();
  hub.wake({ user: 'known', topic: 'workspaces', revision: 6 });
  hub.wake({ user: 'known', topic: 'notifications', revision: 1 });
  hub.wake({ user: 'another', topic: 'notifications', revision: 6 });
  hub.catchUp('known', await findRevisions(opened, 'known'));
  await new Promise(setImmediate);
  expect(reads()).toBe(1);

  await commit(2);
  expect((await waiting).value).toBe(2);
  expect(reads()).toBe(2);
  await stream.return?.();
});

test('retries a failed read without losing events', async () => {
  let failures = 1;
  const { stream } = await openList('failing', [1], {
    wrap: (read) => async (after, state) => {
      if (failures-- > 0) throw new Error('unavailable');
      return read(after, state);
    },
  });
  expect((await stream.next()).value).toBe(1);
  await stream.return?.();
});

test('a stream opened after the hub was closed ends immediately', async () => {
  const closed = createHub(1);
  closed.close();
  const { stream } = await openList('late', [1], { of: closed });

  await expect(stream.next()).rejects.toThrow(GoingAwayError);
  expect((await stream.next()).done).toBe(true);
  expect(closed.size).toBe(0);
});

test('the counts of events are read after the changes, so that they cannot be older', async () => {
  await database.sql(`insert into user_revision (user_id, notifications) values ('counted', 1)`);
  await insertRecords(database, 'notification', 1, { user_id: "'counted'" });
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
