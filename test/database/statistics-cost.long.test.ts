import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { poolOptions } from '../../src/database/pool.ts';
import { MAX_RECORDS } from '../../src/statistics/count-records.ts';
import { fillTables, insertNotifications, insertWorkspaces } from '../support/bulk-records.ts';
import { useGateway } from '../support/gateway.ts';
import { countScanned, explainAll } from '../support/plans.ts';
import { asPlatform, publish, resolve } from '../support/records.ts';
import { recordStatements, type Statement } from '../support/statements.ts';
import { updateStatistics } from '../support/statistics.ts';

/*
 * The cost of the statistics depends on what changed, not on the size of the tables. PostgreSQL runs the
 * statements of a sweep on analyzed tables.
 */

const USERS = 1000;
/** Records of a user with many records, in each table. */
const MANY = 30_000;

const gateway = useGateway();
beforeAll(async () => {
  const { database } = gateway;
  await fillTables(database, ['notification', 'workspace', 'delivery'], async () => {
    await database.sql(
      `insert into user_revision (user_id, notifications, workspaces) select 'user-' || n, $1, $1 from generate_series(1, $2::int) n`,
      [MANY, USERS],
    );
    await insertNotifications(database, 'user-7', MANY);
    await insertWorkspaces(database, 'user-7', MANY);
    for (let n = 100; n < 110; n += 1) await insertNotifications(database, `user-${n}`, 50);
    await database.sql(
      `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at, updated_at)
       select user_id, id, 'email', '', 'email', 'delivered', now(), now(), now(), now() from notification`,
    );
  });
});

const tables = ['notification', 'workspace', 'delivery'];

/** Returns how many records of each table, or entries of its indexes, the statements of a sweep scan. */
async function explainSweep(): Promise<{ scanned: Record<string, number>; statements: Statement[] }> {
  const statements = await recordStatements(() => updateStatistics(gateway.database));
  const client = new pg.Client(poolOptions({ url: gateway.database.url, poolSize: 1, timeoutMs: 30_000 }));
  await client.connect();
  const [settings] = statements.filter(({ text }) => text.includes('set_config'));
  if (settings !== undefined) await client.query(settings.text.replaceAll('true', 'false'));
  const counting = statements.filter(({ text }) => tables.some((table) => text.includes(`"${table}"`)));
  // MikroORM does not prepare statements, so they have custom plans.
  const plans = (await explainAll(client, counting)).filter((_plan, index) => index % 2 === 0);
  await client.end();
  const sum = (table: string) => plans.reduce((total, plan) => total + countScanned(plan, table), 0);
  return { scanned: Object.fromEntries(tables.map((table) => [table, sum(table)])), statements: counting };
}

test('counting all users scans each record about once, in statements of a limited size', async () => {
  const { scanned, statements } = await explainSweep();

  // The last record of a page is scanned twice.
  for (const table of tables) expect(scanned[table], table).toBeLessThanOrEqual((MANY + 500) * 1.05);
  const sizes = statements.map(({ values }) => {
    const [users] = values.filter(Array.isArray);
    const [size] = values.filter((value) => typeof value === 'number');
    return (users?.length ?? 0) * (size ?? Number.POSITIVE_INFINITY);
  });
  expect(sizes.length).toBeGreaterThan((3 * MANY) / MAX_RECORDS);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_RECORDS + USERS);
});

test('a sweep without changes reads no records', async () => {
  expect((await explainSweep()).statements).toEqual([]);
});

test('after a few changes of a user with many notifications, a sweep reads only the changed ones', async () => {
  await gateway.database.sql(`delete from delivery`);
  await publish(gateway, 'user-7', 'task_failed', { task: { id: 'one', projectId: 'p' } });
  await publish(gateway, 'user-7', 'task_failed', { task: { id: 'two', projectId: 'p' } });
  await updateStatistics(gateway.database);
  await resolve(gateway, 'user-7', 'one');
  await publish(gateway, 'user-7', 'task_failed', { task: { id: 'two', projectId: 'p' } });

  expect((await explainSweep()).scanned).toEqual({ notification: 3, workspace: 0, delivery: 0 });
  const query = '{ platform { statistics { notifications { kind status count } } } }';
  const { statistics } = (await asPlatform(gateway, query)).platform;
  expect(statistics.notifications).toEqual([
    { kind: 'PLAN_REQUESTED', status: 'DISMISSED', count: MANY + 500 },
    { kind: 'TASK_FAILED', status: 'ACTIVE', count: 1 },
    { kind: 'TASK_FAILED', status: 'RESOLVED', count: 2 },
  ]);
});

test('reading the statistics reads no records', async () => {
  const query =
    '{ platform { statistics { notifications { count } workspaces { count } deliveries { count } } } }';
  const statements = await recordStatements(() => asPlatform(gateway, query));
  expect(statements.filter(({ text }) => /"(notification|workspace|delivery)"/.test(text))).toEqual([]);
});
