import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../src/database/database.ts';
import { GoingAwayError } from '../src/errors.ts';
import { createHub, type Hub } from '../src/live/hub.ts';
import { openStream, type Source } from '../src/live/stream.ts';
import { createLog } from '../src/log.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { eventually } from './support/eventually.ts';

/*
 * The stream between the announcements and the client, driven where no client could: by what is announced in the
 * middle of a read. What it reads here is a list.
 */

let database: TestDatabase;
let opened: Database;
let hub: Hub;
beforeAll(async () => {
  database = await createTestDatabase();
  opened = await openDatabase({ url: database.url, poolSize: 2, timeoutMs: 5000 });
  hub = createHub({ perUser: 20, inAll: 20 });
});
afterAll(async () => {
  await opened.close();
  await database.drop();
});

const viewer = {
  userId: 'alice',
  scopes: new Set<never>(),
  isMember: true,
  expiresAt: Date.now() + 3_600_000,
  signedBy: '',
};
const change = { user: 'alice', topic: 'notifications' } as const;

const noLeaving = () => undefined;
const silent = createLog('silent', { write: () => undefined });

function open(source: Partial<Source<number>> & Pick<Source<number>, 'read'>) {
  return openStream(
    { em: opened.em.fork(), viewer, hub, log: silent, onLeave: noLeaving },
    { topic: 'notifications', ...source },
  );
}

/** A list that is read to its end at each read. */
function listSource(list: number[], onRead: () => unknown = () => undefined) {
  let reads = 0;
  return {
    reads: () => reads,
    async read() {
      reads += 1;
      const events = list.splice(0);
      await onRead();
      return { events, hasMore: false };
    },
  };
}

test('a change that is announced while it reads is read next', async () => {
  const list = [1];
  const meanwhile = [2];
  const stream = await open(
    listSource(list, () => {
      list.push(...meanwhile.splice(0));
      if (list.length > 0) hub.announce(change);
    }),
  );

  expect([(await stream.next()).value, (await stream.next()).value]).toEqual([1, 2]);
  await stream.return?.();
});

test('callers that ask at the same time each get another event, in turn', async () => {
  const list = [1];
  const stream = await open(listSource(list));
  const asked = [stream.next(), stream.next(), stream.next()];
  await asked[0];
  list.push(2, 3);
  hub.announce(change);

  expect((await Promise.all(asked)).map(({ value }) => value)).toEqual([1, 2, 3]);
  await stream.return?.();
});

test('whoever waits is let go when the client leaves, and the place is free', async () => {
  const stream = await open(listSource([]));
  const waiting = [stream.next(), stream.next()];
  expect(hub.size).toBe(1);

  await stream.return?.();

  expect(await Promise.all(waiting)).toEqual(Array(2).fill({ done: true, value: undefined }));
  expect(hub.size).toBe(0);
});

test('nothing is read while nobody asks, however much is announced', async () => {
  const list: number[] = [];
  const counted = listSource(list);
  const stream = await open(counted);
  for (let number = 0; number < 1000; number += 1) {
    list.push(number);
    hub.announce(change);
  }
  expect(counted.reads()).toBe(0);

  expect((await stream.next()).value).toBe(0);
  expect(counted.reads()).toBe(1);
  await stream.return?.();
});

test('neither other topics nor known revisions make it read', async () => {
  const counted = listSource([1]);
  const stream = await open({ ...counted, isKnown: (revision) => revision <= 5 });
  await stream.next();
  const waiting = stream.next();
  hub.announce({ user: 'alice', topic: 'workspaces', revision: 6 });
  hub.announce({ user: 'alice', topic: 'notifications', revision: 5 });
  hub.announce({ user: 'bob', topic: 'notifications', revision: 6 });
  await new Promise(setImmediate);
  expect(counted.reads()).toBe(1);

  hub.announce({ user: 'alice', topic: 'notifications', revision: 6 });
  await eventually(() => expect(counted.reads()).toBe(2));
  await stream.return?.();
  await waiting;
});

test('a read that fails is tried again, and nothing is lost', async () => {
  let isAway = true;
  const stream = await open({
    async read() {
      if (isAway) throw new Error('away');
      return { events: [1], hasMore: false };
    },
  });
  const waiting = stream.next();
  isAway = false;
  hub.resume();

  expect((await waiting).value).toBe(1);
  await stream.return?.();
});

test('after the end of the hub a stream ends as soon as it is opened', async () => {
  const closed = createHub({ perUser: 1, inAll: 1 });
  closed.close();
  const stream = await openStream(
    { em: opened.em.fork(), viewer, hub: closed, log: silent, onLeave: noLeaving },
    { topic: 'notifications', ...listSource([1]) },
  );

  await expect(stream.next()).rejects.toThrow(GoingAwayError);
  expect((await stream.next()).done).toBe(true);
  expect(closed.size).toBe(0);
});
