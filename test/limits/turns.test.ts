import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { KeyedSemaphore, ReadScheduler } from '../../src/quota/read-scheduler.ts';
import { RunningDocuments } from '../../src/quota/running-documents.ts';
import { beginTransaction, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { recordStatementsWith } from '../support/statements.ts';

const gateway = useGateway({ NOTIFICATION_RETENTION_DAYS: '0', DATABASE_TIMEOUT_MS: '60000' });

test('runs reads of a key in order, with limited concurrency, and returns each result', async () => {
  const read = fc.record({ key: fc.constantFrom('a', 'b'), turns: fc.nat(5), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(read, { maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }),
      async (reads, limit) => {
        const semaphore = new KeyedSemaphore(limit);
        const running = { a: 0, b: 0 };
        const started: number[] = [];
        const ends = await Promise.allSettled(
          reads.map(({ key, turns: length, fails }, index) =>
            semaphore.run(key, async () => {
              started.push(index);
              running[key] += 1;
              expect(running[key]).toBeLessThanOrEqual(limit);
              for (let passed = 0; passed < length; passed += 1) await nextTurn();
              running[key] -= 1;
              if (fails) throw new Error(`read ${index}`);
              return index;
            }),
          ),
        );
        expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.message))).toEqual(
          reads.map(({ fails }, index) => (fails ? `read ${index}` : index)),
        );
        for (const key of ['a', 'b']) {
          const own = started.filter((index) => reads[index]?.key === key);
          expect(own).toEqual(own.toSorted((one, other) => one - other));
        }
      },
    ),
  );
});

test('sends the next long list of a caller when the first is sent, and those of others meanwhile', async () => {
  const scheduler = new ReadScheduler();
  const { promise: sent, resolve: finish } = Promise.withResolvers<void>();
  const first = scheduler.runList('alice', () => sent);
  let hasBegun = false;
  const second = scheduler.runList('alice', async () => {
    hasBegun = true;
  });
  await scheduler.runList('bob', () => nextTurn());
  await scheduler.run('alice', () => nextTurn());
  expect(hasBegun).toBe(false);
  finish();
  await Promise.all([first, second]);
  expect(hasBegun).toBe(true);
});

test('runs at most four concurrent account reads per caller, and completes all of them', async () => {
  const { database } = gateway;
  await database.sql(`insert into user_revision (user_id) values ('alice')`);
  const field = 'notifications(first: 1, filter: { taskIds: ["t"] }) { totalCount }';
  const aliases = Array.from({ length: 20 }, (_, index) => `a${index}: ${field}`);
  const session = await beginTransaction(database, 'lock table notification');
  const replies: Promise<object>[] = [];
  const statements = await recordStatementsWith('alice', async () => {
    replies.push(gateway.as('alice').run(`{ ${aliases.join(' ')} }`));
    await eventually(async () => expect(await waitingSessions(database)).toBeGreaterThan(0));
    // Statements are not pipelined behind one that has taken 20 ms.
    const waitingSince = performance.now();
    await eventually(() => expect(performance.now() - waitingSince).toBeGreaterThan(20));
    // Another user's reads do not wait.
    await gateway.as('bob').editorConnection();
  });
  expect(statements).toHaveLength(4);
  // Nor do changes of the same user.
  await gateway.as('alice').connectEditor({ accessToken: 'a' });
  await session.query('rollback');
  const [data = {}] = await Promise.all(replies);
  expect(Object.values(data)).toEqual(Array(20).fill({ totalCount: 0 }));
});

test.each([1, 8000, 25_000])(
  'the reply to a document that costs %i has its errors and all fields',
  async (cost) => {
    const document = await new RunningDocuments().admit('a', cost, () => undefined);
    const reply = { errors: [{ message: 'No' }], data: { one: [1], two: null, three: { of: '"' } } };
    expect(JSON.parse((await document?.format(reply)) ?? '')).toEqual(reply);
  },
);

/* Small documents cost at most 4,000. Large ones cost more than 8,000, up to 25,000, which is what they may cost together. */
describe('running documents', () => {
  let running: RunningDocuments;
  beforeEach(() => {
    vi.useFakeTimers();
    running = new RunningDocuments();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const settle = () => vi.advanceTimersByTimeAsync(0);

  /** A document: `state` is set once it may run, or may not. */
  type Sent = { state?: boolean; format: () => Promise<void>; leave: () => Promise<void> };

  /** Sends a document of a caller. */
  function send(callerId: string, cost: number): Sent {
    const { promise, resolve: leave } = Promise.withResolvers<void>();
    const admitted = running.admit(callerId, cost, (onLeave) => void promise.then(onLeave));
    const document: Sent = {
      async format() {
        // Those that do not run have no reply.
        if (document.state) void (await admitted)?.format({ data: {} });
        await settle();
      },
      async leave() {
        leave();
        await settle();
      },
    };
    void admitted.then((run) => {
      document.state = run !== undefined;
    });
    return document;
  }

  /** Sends documents, each of the next caller, or all of one. */
  const sendAll = (costs: number[], caller?: string) =>
    costs.map((cost, index) => send(caller ?? 'abc'.charAt(index), cost));

  /** The states of documents, once nothing more happens. */
  async function statesOf(documents: readonly Sent[]) {
    await settle();
    return documents.map(({ state }) => state);
  }

  test('the documents of a caller cost at most 8,000 together, and the next one runs when a reply was sent', async () => {
    const own = sendAll([4000, 3000, 1001], 'a');
    const other = send('b', 8000);
    await settle();
    await own[0]?.format();
    await own[1]?.format();
    expect(await statesOf([...own, other])).toEqual([true, true, undefined, true]);
    await other.format();
    await own[1]?.leave();
    expect(own[2]?.state).toBe(true);
  });

  test('large documents of all callers run one at a time, in turn; those of each kind delay no others', async () => {
    const large = sendAll([25_000, 25_000, 25_000]);
    const ofFirst = sendAll([8000, 1500], 'a');
    expect(await statesOf([...large, ...ofFirst])).toEqual([true, undefined, undefined, true, true]);
    await large[0]?.leave();
    expect(await statesOf(large)).toEqual([true, true, undefined]);
  });

  test('small documents read together; of the others, the next one reads when a reply is formatted', async () => {
    const small = sendAll([4000, 4000, 4000]);
    const others = sendAll([4001, 4001]);
    expect(await statesOf([...small, ...others])).toEqual([true, true, true, true, undefined]);
    await others[0]?.format();
    expect(await statesOf(others)).toEqual([true, true]);
  });

  test('ten callers who read no reply leave room for another', async () => {
    const attack = Array.from({ length: 200 }, (_, index) =>
      sendAll([8000, 25_000], `attacker-${index % 10}`),
    );
    for (let round = 0; round < 10; round += 1) {
      await settle();
      await Promise.all(attack.flat().map(({ format }) => format()));
    }
    expect(attack.flat().filter(({ state }) => state).length).toBe(11);
    expect(await statesOf(sendAll([4000, 4000]))).toEqual([true, true]);
  });

  test('callers take turns: the further documents of ten do not pass that of another', async () => {
    const attack = Array.from({ length: 200 }, (_, index) => send(`attacker-${index % 10}`, 8000));
    const other = send('a', 4001);
    await settle();
    let sent = 0;
    for (; !other.state && sent < 20; sent += 1) {
      const document = attack.find(({ state }) => state);
      attack.splice(document ? attack.indexOf(document) : 0, 1);
      await document?.leave();
    }
    // Each has one turn.
    expect(sent).toBeLessThanOrEqual(11);
  });

  test('a document that lacks room for ten seconds does not run, and takes no room later', async () => {
    const documents = sendAll([25_000, 25_000]);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(await statesOf(documents)).toEqual([true, undefined]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await statesOf(documents)).toEqual([true, false]);
    for (const document of documents) await document.leave();
    expect(await statesOf([send('c', 25_000)])).toEqual([true]);
  });

  test('a document whose client leaves while it waits takes no room', async () => {
    const documents = sendAll([25_000, 25_000, 25_000]);
    await settle();
    await documents[1]?.leave();
    expect(documents[1]?.state).toBe(false);
    await documents[0]?.leave();
    expect(documents[2]?.state).toBe(true);
  });
});
