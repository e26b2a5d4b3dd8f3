import { sql } from 'kysely';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { getKysely, openDatabase } from '../../src/database/database.ts';
import { defineStatement, type Params } from '../../src/database/statement.ts';
import { transaction, userTransaction } from '../../src/database/transaction.ts';
import { UserRevision } from '../../src/revisions/revisions.entity.ts';
import type { Time } from '../../src/values/time.ts';
import { refused } from '../support/as.ts';
import { openTestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { startProxy } from '../support/proxy.ts';
import { notification, publish, resolve } from '../support/records.ts';
import { recordStatements, recordStatementsWith } from '../support/statements.ts';
import { platform } from '../support/tokens.ts';

const { database, opened, locker, close } = await openTestDatabase(6);
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

/** Loses an increment if another one runs at the same time. */
async function incrementAsRead(db: ReturnType<typeof getKysely>, userId: string): Promise<void> {
  const ofUser = db.selectFrom('UserRevision').select('workspaces').where('userId', '=', userId);
  const { workspaces } = await ofUser.executeTakeFirstOrThrow();
  const next = { workspaces: Number(workspaces) + 1 };
  await db.updateTable('UserRevision').set(next).where('userId', '=', userId).execute();
}

test.each<[name: string, change: (users: string[]) => Promise<unknown>]>([
  [
    '`transaction`',
    (users) =>
      transaction(opened, users, (run) => Promise.all(users.map((userId) => run(count, { userId })))),
  ],
  [
    '`userTransaction`',
    (users) =>
      userTransaction(opened.fork(), users, async (em) => {
        for (const userId of users) await incrementAsRead(getKysely(em), userId);
      }),
  ],
])(
  '%s: concurrent changes of the same users take turns, and do not deadlock in any order',
  async (name, change) => {
    const users = [1, 2, 3, 4].map((number) => `${name}-${number}`);
    const rounds = Array.from({ length: 60 }, (_none, round) =>
      change(round % 2 === 0 ? users : users.toReversed()),
    );
    await Promise.all(rounds);
    expect(await Promise.all(users.map(readCount))).toEqual([60, 60, 60, 60]);
  },
);

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

test('`userTransaction` stores nothing if `work` rejects', async () => {
  const time: Time = '2026-05-04T10:00:00.340Z';
  const work = userTransaction(opened.fork(), ['failing'], async (em) => {
    await getKysely(em)
      .insertInto('Contact')
      .values({ userId: 'failing', createdAt: time, updatedAt: time })
      .execute();
    throw new Error('no');
  });
  await expect(work).rejects.toThrow('no');
  expect(await database.sql(`select from contact where user_id = 'failing'`)).toEqual([]);
  expect(await database.sql(`select from user_revision where user_id = 'failing'`)).toEqual([]);
});

test.each([
  ['begin', 'refuse'],
  ['begin', 'stall'],
  ['rollback', 'refuse'],
  ['rollback', 'stall'],
] as const)(
  'a transaction whose connection is lost before %s (%s) returns it to the pool',
  async (at, state) => {
    const behindProxy = new URL(database.url);
    const proxy = await startProxy(Number(behindProxy.port));
    behindProxy.port = String(proxy.port);
    const single = await openDatabase({ url: behindProxy.href, poolSize: 1, timeoutMs: 300 });
    const count = () => single.fork().transactional((em) => em.count(UserRevision));
    onTestFinished(async () => {
      await single.close();
      await proxy.close();
    });
    await count();
    if (at === 'begin') {
      await proxy.setState(state);
      await expect(count()).rejects.toThrow();
    } else {
      const work = single.fork().transactional(async () => {
        await proxy.setState(state);
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
    }
    await proxy.setState('open');
    await eventually(async () => expect(await count()).toBeGreaterThan(0));
    expect(single.pools().find(({ name }) => name === 'main')).toMatchObject({ used: 0, pending: 0 });
  },
);

describe('a change of notifications', () => {
  const gateway = useGateway({}, { database });
  // With a channel, changes consist of other statements. Nothing listens on the port.
  const email = { SMTP_URL: 'smtp://127.0.0.1:1', SMTP_FROM: 'no-reply@example.com', DELIVERY: 'false' };
  const withChannel = useGateway(email, { database });
  const task = { id: 'task', projectId: 'project' };

  // At the other gateway, because the changes of one process take turns.
  test.each<[what: string, change: (userId: string) => Promise<unknown>, statuses: string[]]>([
    ['dismisses it', (user) => withChannel.as(user).dismissAll({ ids: ['n'] }), ['active', 'dismissed']],
    ['resolves it', (user) => resolve(withChannel, user, task.id), ['resolved', 'resolved']],
    ['deletes it with its user', (userId) => withChannel.as(platform).deleteUser({ userId }), []],
    [
      'supersedes it',
      (user) => publish(withChannel, user, 'task_failed', { id: 'o', task }),
      ['active', 'resolved', 'active'],
    ],
  ])('that waits until a publication is committed %s', async (userId, change, statuses) => {
    // Resolving waits only if there is something to resolve.
    await publish(gateway, userId, 'plan_requested', { id: 'before', task });
    await locker.query('begin');
    await locker.query('select from user_revision where user_id = $1 for update', [userId]);
    // PostgreSQL grants a row's lock in the order of the requests.
    const started: Promise<unknown>[] = [];
    for (const run of [
      () => publish(gateway, userId, 'task_failed', { id: 'n', task }),
      () => change(userId),
    ]) {
      started.push(run());
      await eventually(async () => expect(await waitingSessions(database)).toBe(started.length));
    }
    await locker.query('rollback');
    await Promise.all(started);

    const stored = await database.sql('select status from notification where user_id = $1 order by id', [
      userId,
    ]);
    expect(stored.map(({ status }) => status)).toEqual(statuses);
  });

  test('that dismisses one is one statement', async () => {
    const { id } = await publish(gateway, 'ordinary');
    const dismiss = () => recordStatementsWith(id, () => gateway.as('ordinary').dismiss({ id }));
    expect(await dismiss()).toHaveLength(1);
  });
});
