import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { preparedPoolOptions } from '../../src/database/pool.ts';
import { createLog } from '../../src/log.ts';
import { deleteBatch, startRetention } from '../../src/notifications/retention.ts';
import { type Time, toTime } from '../../src/values/time.ts';
import { beginTransaction, openTestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { countScanned, explainAll } from '../support/plans.ts';
import { recordStatements } from '../support/statements.ts';

const { database, opened, close } = await openTestDatabase(5);
afterAll(close);

/** Inserts a user's notifications with a status, last changed a number of days ago. */
async function store(user: string, status: string, count: number, days: number): Promise<void> {
  await database.sql(
    `insert into user_revision (user_id, notifications) values ($1, 1) on conflict do nothing`,
    [user],
  );
  await database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               occurred_at, created_at, updated_at)
     select $1, $2 || '-' || $4::int || '-' || n, 1, 'task_failed', $2, $2 || '-' || $4::int || '-' || n, 'p', 'T', '{}',
            now() - interval '1000 days', now() - interval '1000 days', now() - $4::int * interval '1 day'
       from generate_series(1, $3::int) n`,
    [user, status, count, days],
  );
}

async function readIds(user: string): Promise<unknown[]> {
  const rows = await database.sql('select id from notification where user_id = $1 order by id', [user]);
  return rows.map(({ id }) => id);
}

const readRevision = async (user: string) =>
  (await database.sql('select notifications::int as n from user_revision where user_id = $1', [user]))[0]?.n;
const before = () => toTime(new Date(Date.now() - 90 * 86_400_000));
const dependencies = { database: opened, announce: () => undefined };
const remove = async () => (await deleteBatch(dependencies, before()))?.deleted;

test('removes notifications resolved or dismissed more than NOTIFICATION_RETENTION_DAYS ago, none with 0', async () => {
  for (const status of ['active', 'resolved', 'dismissed']) {
    await store('alice', status, 1, 31);
    await store('bob', status, 1, 29);
  }

  const keeping = await startTestGateway({ NOTIFICATION_RETENTION_DAYS: '0' }, database);
  await keeping.close();
  expect(await readIds('alice')).toHaveLength(3);

  const gateway = await startTestGateway({ NOTIFICATION_RETENTION_DAYS: '30' }, database);
  await eventually(async () => expect(await readIds('alice')).toEqual(['active-31-1']));
  await gateway.close();

  expect(await readIds('bob')).toEqual(['active-29-1', 'dismissed-29-1', 'resolved-29-1']);
  expect([await readRevision('alice'), await readRevision('bob')]).toEqual([2, 1]);
});

test('keeps open requests of dismissed notifications, and removes settled ones', async () => {
  await store('asked', 'dismissed', 5, 91);
  await database.sql(
    `update notification set kind = 'plan_requested',
       request_state = (array['open', 'answered', 'expired', 'withdrawn', 'none'])[right(id, 1)::int]
     where user_id = 'asked'`,
  );

  expect(await remove()).toBe(4);
  expect(await readIds('asked')).toEqual(['dismissed-91-1']);
  await database.sql(`delete from notification where user_id = 'asked'`);
});

test('reads what it may not delete once, and not for each batch', async () => {
  await store('waits', 'dismissed', 200, 300);
  await database.sql(
    `update notification set kind = 'plan_requested', request_state = 'open' where user_id = 'waits'`,
  );
  for (const user of ['one', 'two', 'three']) await store(user, 'dismissed', 2, 100);
  await database.sql('analyze notification');

  const client = new pg.Client(preparedPoolOptions({ url: database.url, poolSize: 1, timeoutMs: 5000 }));
  await client.connect();
  onTestFinished(() => client.end());
  const costs: number[] = [];
  let from: Time | undefined;
  for (let batch = 1; batch <= 4; batch += 1) {
    const [select] = (
      await recordStatements(async () => {
        const deleted = await deleteBatch(dependencies, before(), from);
        from = deleted?.from;
      })
    ).filter(({ text }) => text.includes('order by "updated_at"'));
    const [plan] = await explainAll(client, select ? [select] : []);
    costs.push(plan ? countScanned(plan, 'notification') : Number.NaN);
  }

  // Explained after the batch was deleted, so the last one finds nothing.
  expect(costs[0]).toBeGreaterThan(200);
  expect(Math.max(...costs.slice(1))).toBeLessThanOrEqual(3);
  expect(await readIds('waits')).toHaveLength(200);
  expect((await Promise.all(['one', 'two', 'three'].map(readIds))).flat()).toEqual([]);
  await database.sql(`delete from notification where user_id = 'waits'`);
});

test('removes batches of one user each, and each batch increments the user’s revision', async () => {
  await store('many', 'resolved', 1200, 200);
  await store('few', 'dismissed', 3, 100);

  const batches = [await remove(), await remove(), await remove(), await remove(), await remove()];

  expect(batches).toEqual([500, 500, 200, 3, undefined]);
  expect([await readRevision('many'), await readRevision('few')]).toEqual([4, 2]);
  expect([...(await readIds('many')), ...(await readIds('few'))]).toEqual([]);
});

test('several gateways remove every notification once, without waiting for each other', async () => {
  await store('shared', 'resolved', 2000, 200);
  let removed = 0;
  const work = async () => {
    while ((await readIds('shared')).length > 0) {
      const batch = await remove();
      removed += batch ?? 0;
    }
  };

  await Promise.all([work(), work(), work()]);

  expect(removed).toBe(2000);
  expect(await readRevision('shared')).toBe(5);
});

test('does not recreate a user who is deleted concurrently', async () => {
  await store('leaving', 'resolved', 1, 200);
  const locker = await beginTransaction(database, `delete from user_revision where user_id = 'leaving'`);
  await locker.query(`delete from notification where user_id = 'leaving'`);
  const removed = remove();
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  await locker.query('commit');

  expect(await removed).toBeUndefined();
  expect(await readRevision('leaving')).toBeUndefined();
});

test('removes many resolutions in statements of a limited size', async () => {
  await database.sql(
    `insert into task_resolution (user_id, task_id, kind, resolved_up_to, resolution, updated_at)
     select 'many', n::text, 'task_failed', now(), 'answered', now() - interval '91 days' from generate_series(1, 12000) n`,
  );
  const count = async () => (await database.sql('select from task_resolution')).length;

  const statements = await recordStatements(async () => {
    const retention = startRetention(dependencies, 90, createLog('silent', { write: () => undefined }));
    await eventually(async () => expect(await count()).toBe(0));
    await retention.stop();
  });

  expect(statements.filter(({ text }) => text.startsWith('delete from "task_resolution"'))).toHaveLength(3);
});

test('removes resolutions by the time of the call that stored them, not by `before`', async () => {
  await database.sql(
    `insert into task_resolution (user_id, task_id, kind, resolved_up_to, resolution, updated_at)
     values ('forgets', 'old', 'task_failed', now(), 'answered', now() - interval '91 days'),
            ('forgets', 'new', 'task_failed', now() - interval '300 days', 'answered', now() - interval '89 days')`,
  );

  const gateway = await startTestGateway({ NOTIFICATION_RETENTION_DAYS: '90' }, database);
  const kept = () => database.sql(`select task_id from task_resolution where user_id = 'forgets'`);
  await eventually(async () => expect(await kept()).toEqual([{ task_id: 'new' }]));
  await gateway.close();
});
