import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import pg from 'pg';
import { expect, test } from 'vitest';
import { KeyedSemaphore, ReadScheduler } from '../../src/quota/read-scheduler.ts';
import { waitingSessions } from '../support/database.ts';
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
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  try {
    await database.sql(`insert into user_revision (user_id) values ('alice')`);
    const aliases = Array.from(
      { length: 20 },
      (_, index) => `a${index}: notifications(first: 1, filter: { taskIds: ["t"] }) { totalCount }`,
    );
    await locker.query('begin; lock table notification');
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
    await locker.query('rollback');
    const [data = {}] = await Promise.all(replies);
    expect(Object.values(data)).toEqual(Array(20).fill({ totalCount: 0 }));
  } finally {
    await locker.end();
  }
});
