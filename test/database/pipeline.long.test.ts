import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { Pipeline } from '../../src/database/pipeline.ts';
import { poolOptions } from '../../src/database/pool.ts';
import { rest } from '../support/client.ts';
import { openTestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const { database, locker, close } = await openTestDatabase(1);
afterAll(close);

describe('a pipeline', () => {
  const createPipeline = (timeoutMs: number) =>
    new Pipeline(poolOptions({ url: database.url, poolSize: 1, timeoutMs }));
  let pipeline: Pipeline;
  beforeEach(() => {
    pipeline = createPipeline(60_000);
  });
  afterEach(() => pipeline.pool.end());

  const pid = { text: 'select pg_backend_pid() as pid' };
  const echo = (value: number) => ({ name: 'echo', text: 'select $1::int as value', values: [value] });
  const wrong = { text: 'select 1 / 0' };
  /** Waits for the lock of `locker`. */
  const blocked = { text: 'select pg_advisory_lock_shared(1)' };

  test('sends concurrent statements over one connection and releases it', async () => {
    const pids = await Promise.all(Array.from({ length: 50 }, () => pipeline.query(pid)));
    expect(new Set(pids.map(([row]) => row?.pid)).size).toBe(1);
    await eventually(() => expect([pipeline.pool.totalCount, pipeline.pool.idleCount]).toEqual([1, 1]));
  });

  test("returns each statement's own rows, even if others fail", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(fc.integer({ min: 0, max: 1e9 })), { maxLength: 40 }),
        async (values) => {
          const sent = values.map((value) => pipeline.query(value === null ? wrong : echo(value)));
          const ends = (await Promise.allSettled(sent)).map((end) =>
            end.status === 'fulfilled' ? end.value : end.reason.message,
          );
          expect(ends).toEqual(values.map((value) => (value === null ? 'division by zero' : [{ value }])));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('sends nothing after a long-running statement on the same connection', async () => {
    await locker.query('select pg_advisory_lock(1)');
    const first = pipeline.query(blocked);
    await eventually(async () => expect(await waitingSessions(database)).toBe(1));
    const sent = performance.now();
    await eventually(() => expect(performance.now() - sent).toBeGreaterThan(20));
    expect(await pipeline.query(echo(7))).toEqual([{ value: 7 }]);
    await locker.query('select pg_advisory_unlock(1)');
    await first;
  });

  test('retries the statements after a timed-out one, and each fails only by itself', async () => {
    await locker.query('select pg_advisory_lock(1)');
    const shortTimeout = createPipeline(1000);
    const statements = [blocked, echo(1), wrong, blocked, echo(2)];
    const ends = await Promise.allSettled(statements.map((statement) => shortTimeout.query(statement)));
    const timedOut = expect.stringMatching(/statement timeout/);
    expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.message))).toEqual([
      timedOut,
      [{ value: 1 }],
      'division by zero',
      timedOut,
      [{ value: 2 }],
    ]);
    await locker.query('select pg_advisory_unlock(1)');
    expect(await shortTimeout.query(echo(7))).toEqual([{ value: 7 }]);
    await shortTimeout.pool.end();
  });

  test('limits the number of prepared statements', async () => {
    const kept = {
      text: 'select pg_backend_pid() as pid, count(*)::int as count from pg_prepared_statements',
    };
    const counts = new Map<number, number>();
    for (let turn = 0; turn < 50; turn += 1) {
      const statements = Array.from({ length: 20 }, (_, index) => {
        const text = `select ${turn * 20 + index} as value`;
        return { name: text, text };
      });
      const rows = await Promise.all(statements.map((statement) => pipeline.query(statement)));
      expect(rows).toEqual(statements.map((_, index) => [{ value: turn * 20 + index }]));
      const [row] = await pipeline.query<{ pid: number; count: number }>(kept);
      if (row) counts.set(row.pid, Math.max(row.count, counts.get(row.pid) ?? 0));
    }
    expect(counts.size).toBeGreaterThan(2);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(220);
    expect(pipeline.pool.totalCount).toBeLessThanOrEqual(2);
  });
});

test('connections for reads and changes stay open while they are idle', async () => {
  const opened = await openDatabase({ url: database.url, poolSize: 3, timeoutMs: 500 });
  const text = 'select pg_backend_pid() as pid';
  const askPids = async () => [
    ...(await opened.changes.query(text)).rows,
    ...(await opened.short.query({ text })),
    ...(await opened.long.query({ text })),
  ];
  const pids = await askPids();
  // A connection in use would be broken after this time.
  const idle = `select pid from pg_stat_activity where state = 'idle' and state_change < now() - interval '2 s'
                   and pid = any($1)`;
  await eventually(async () =>
    expect(await database.sql(idle, [pids.map(({ pid }) => pid)])).toHaveLength(pids.length),
  );
  expect(await askPids()).toEqual(pids);
  await opened.close();
});

describe('a read', () => {
  let gateway: TestGateway;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ DATABASE_POOL_SIZE: '2', DATABASE_TIMEOUT_MS: '60000' }, database);
    token = await member('alice');
    await publish(gateway, 'alice', 'task_failed', { id: 'n1' });
  });
  afterAll(() => gateway.close());

  const requestStatus = async (method: string, path: string, by = token) =>
    (await rest(gateway, method, path, { token: by })).status;

  /** Requests `paths` while `held` waits for a lock on two connections. Returns the statuses of both. */
  async function whileLocked(lock: string, held: (() => Promise<number>)[], paths: readonly string[]) {
    await locker.query('begin');
    await locker.query(lock);
    const waiting: Promise<number>[] = [];
    let meanwhile: number[] = [];
    try {
      for (const [index, start] of held.entries()) {
        waiting.push(start());
        await eventually(async () => expect(await waitingSessions(database)).toBe(Math.min(index + 1, 2)));
        const since = performance.now();
        // A further read is sent on another connection only once this one is slow.
        await eventually(() => expect(performance.now() - since).toBeGreaterThan(20));
      }
      meanwhile = await Promise.all(paths.map((path) => requestStatus('GET', path)));
    } finally {
      await locker.query('rollback');
    }
    return { meanwhile, after: await Promise.all(waiting) };
  }

  test('does not wait for changes, even if they occupy all connections of their pool', async () => {
    const dismissals = [1, 2, 3].map(() => () => requestStatus('POST', '/user/notifications/n1/dismiss'));
    const lock = `select from user_revision where user_id = 'alice' for update`;
    const asked = ['/editor/auth', '/user/notifications', '/user/notifications?limit=1', '/user/workspaces'];
    expect(await whileLocked(lock, dismissals, asked)).toEqual({
      meanwhile: [200, 200, 200, 200],
      after: [200, 200, 200],
    });
  });

  test.each(['', '?limit=1001', '?limit=1&offset=1'])(
    'of a record or a short page does not wait for GET /user/workspaces%s',
    async (search) => {
      // One list at a time is read for each user.
      const tokens = await Promise.all(['bob', 'carol', 'dave'].map((user) => member(user)));
      const lists = tokens.map((by) => () => requestStatus('GET', `/user/workspaces${search}`, by));
      const asked = ['/editor/auth', '/user/notifications?limit=1', '/user/notifications?limit=1000'];
      expect(await whileLocked('lock table workspace', lists, asked)).toEqual({
        meanwhile: [200, 200, 200],
        after: [200, 200, 200],
      });
    },
  );
});
