import { sql } from 'kysely';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { defineStatement, type Params } from '../../src/database/statement.ts';
import { transaction } from '../../src/database/transaction.ts';
import { refused } from '../support/as.ts';
import { openTestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { notification } from '../support/records.ts';
import { recordStatements } from '../support/statements.ts';
import { platform } from '../support/tokens.ts';

const { database, opened, locker, close } = await openTestDatabase(3);
afterAll(close);

type ByUser = { userId: string };
const count = defineStatement((db, { param }: Params<ByUser>) =>
  db
    .updateTable('UserRevision')
    .set((eb) => ({ workspaces: eb('workspaces', '+', 1) }))
    .where('userId', '=', param('userId'))
    .returning('workspaces'),
);
const fail = defineStatement((db, { param }: Params<{ divisor: number }>) =>
  db.selectNoFrom(sql<number>`1 / ${param('divisor', 'int')}`.as('quotient')),
);

const readCount = async (userId: string) => {
  const rows = await database.sql('select workspaces::int as count from user_revision where user_id = $1', [
    userId,
  ]);
  return rows[0]?.count;
};

test('sends the statements of a change before the first one returns', async () => {
  await locker.query('begin');
  await locker.query('lock table user_revision');
  let result: Promise<unknown> | undefined;
  const sent = await recordStatements(async () => {
    result = transaction(opened, ['sent'], (run) =>
      Promise.all([run(count, { userId: 'sent' }), run(count, { userId: 'sent' })]),
    );
    await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  });
  expect(sent.map(({ text }) => text.split(' ')[0]).filter((word) => word !== 'select')).toEqual([
    'begin',
    'insert',
    'update',
    'update',
  ]);
  await locker.query('rollback');
  expect(await result).toEqual([[{ workspaces: 1 }], [{ workspaces: 2 }]]);
});

test('a statement sees what was committed while the change waited for its lock', async () => {
  await database.sql(`insert into user_revision (user_id) values ('fresh')`);
  await locker.query('begin');
  await locker.query(`update user_revision set workspaces = 41 where user_id = 'fresh'`);
  const result = transaction(opened, ['fresh'], (run) => run(count, { userId: 'fresh' }));
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  await locker.query('commit');
  expect(await result).toEqual([{ workspaces: 42 }]);
});

test('a failed statement rolls the change back; the error is that of the first failed statement', async () => {
  await transaction(opened, ['failed'], (run) => run(count, { userId: 'failed' }));
  const failing = transaction(opened, ['failed'], (run) =>
    Promise.all([
      run(count, { userId: 'failed' }),
      run(fail, { divisor: 0 }),
      run(count, { userId: 'failed' }),
    ]),
  );
  await expect(failing).rejects.toThrow('division by zero');
  expect(await readCount('failed')).toBe(1);

  expect(await transaction(opened, ['failed'], (run) => run(count, { userId: 'failed' }))).toEqual([
    { workspaces: 2 },
  ]);
});

test('a statement that cannot be built rolls the change back and releases the connection', async () => {
  const failing = transaction(opened, ['unbuilt'], (run) => {
    const first = run(count, { userId: 'unbuilt' });
    if (first instanceof Promise) throw new Error('unbuilt');
    return first;
  });
  await expect(failing).rejects.toThrow('unbuilt');
  expect(await readCount('unbuilt')).toBeUndefined();
  const { totalCount, idleCount } = opened.changes;
  expect(idleCount).toBe(totalCount);
});

test('concurrent changes of the same users in any order do not deadlock', async () => {
  const users = ['deadlock-1', 'deadlock-2', 'deadlock-3', 'deadlock-4'];
  const rounds = Array.from({ length: 60 }, (_none, round) => {
    const order = round % 2 === 0 ? users : users.toReversed();
    return transaction(opened, order, (run) => Promise.all(order.map((userId) => run(count, { userId }))));
  });
  await Promise.all(rounds);
  expect(await Promise.all(users.map(readCount))).toEqual([60, 60, 60, 60]);
});

test('returns 500 and rolls back if the connection is lost during a change', async () => {
  const gateway = await startTestGateway({}, database);
  onTestFinished(() => gateway.close());
  const task = { id: 'task', projectId: 'p' };
  const notifications = [1, 2].map((number) =>
    notification(`lost-${number}`, 'task_failed', { id: 'n', task }),
  );
  const publish = () => gateway.as(platform).publishAll({ notifications });
  await database.sql(`insert into user_revision (user_id) values ('lost-2')`);
  await locker.query('begin');
  // The first user's notification can be stored; the second one's waits for the lock.
  await locker.query('lock table notification in share mode');
  const lost = expect(publish()).rejects.toMatchObject(refused('INTERNAL_ERROR'));
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  await locker.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
  await lost;
  await locker.query('rollback');

  expect(await database.sql(`select from notification where user_id like 'lost-%'`)).toEqual([]);
  expect(await readCount('lost-1')).toBeUndefined();
  expect(await publish()).toMatchObject([{ created: true }, { created: true }]);
});

test('a change that waits for a lock fails within the database timeout', async () => {
  const shortTimeout = await openDatabase({ url: database.url, poolSize: 1, timeoutMs: 300 });
  await locker.query('begin');
  await locker.query(`insert into user_revision (user_id) values ('slow')`);
  const started = performance.now();
  await expect(transaction(shortTimeout, ['slow'], (run) => run(count, { userId: 'slow' }))).rejects.toThrow(
    /timeout/,
  );
  expect(performance.now() - started).toBeLessThan(5000);
  await locker.query('rollback');
  await shortTimeout.close();
});
