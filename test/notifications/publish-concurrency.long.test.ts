import { expect, test } from 'vitest';
import { conflict } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { type Kind, notification, payloads, publish, resolve } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const task = { id: 'task', projectId: 'project' };

function runConcurrently<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

async function readRows(userId: string) {
  return gateway.database.sql(
    'select id, kind, status, resolution, revision::int from notification where user_id = $1 order by revision',
    [userId],
  );
}

async function readRevision(userId: string): Promise<number> {
  const [row] = await gateway.database.sql(
    'select notifications::int as revision from user_revision where user_id = $1',
    [userId],
  );
  return Number(row?.revision);
}

test('leaves only the last stored of several concurrent publications of a task and kind active', async () => {
  const ids = await runConcurrently(20, (n) =>
    publish(gateway, 'burst', 'plan_requested', { id: `n-${n}`, task }),
  );

  const rows = await readRows('burst');
  expect(rows).toHaveLength(ids.length);
  expect(rows.filter(({ status }) => status === 'active')).toEqual([rows.at(-1)]);
  for (const row of rows.slice(0, -1))
    expect(row).toMatchObject({ status: 'resolved', resolution: 'superseded' });
});

test('creates the notification in exactly one of several concurrent retries; the others return it', async () => {
  const retry = notification('retries', 'task_failed', { id: 'mine', task });
  const results = await runConcurrently(10, () => as(platform).publish(retry));

  expect(results.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(results.map(({ notification }) => JSON.stringify(notification))).size).toBe(1);
  expect(await readRows('retries')).toHaveLength(1);
});

test('stores exactly one of several concurrent publications with one ID and different content; the others return CONFLICT', async () => {
  const rival = (n: number) =>
    notification('rivals', 'task_failed', { id: 'taken', task, title: `Title ${n}` });
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_none, n) => as(platform).publish(rival(n))),
  );
  const refusals = outcomes.filter(({ status }) => status === 'rejected');
  expect(refusals).toHaveLength(7);
  for (const refusal of refusals) expect(refusal).toMatchObject({ reason: conflict('ID_REUSED') });
});

test('every change has a unique, increasing revision', async () => {
  const user = 'revisions';
  await publish(gateway, user, 'plan_requested', { id: 'a', task });
  expect(await readRows(user)).toMatchObject([{ id: 'a', revision: 1 }]);

  await publish(gateway, user, 'plan_requested', { id: 'b', task });
  expect(await readRows(user)).toMatchObject([
    { id: 'a', revision: 2 },
    { id: 'b', revision: 3 },
  ]);

  await publish(gateway, user, 'task_failed', { id: 'c', task });
  await resolve(gateway, user, task.id);
  expect(await readRows(user)).toMatchObject([
    { id: 'a', revision: 2 },
    { id: 'b', revision: 5 },
    { id: 'c', revision: 6 },
  ]);

  await as(user).dismiss({ id: 'a' });
  expect((await readRows(user)).at(-1)).toMatchObject({ id: 'a', revision: 7 });
  expect(await readRevision(user)).toBe(7);
});

test('concurrent publications, resolutions and dismissals keep records consistent', async () => {
  const user = 'mixed';
  const kinds = Object.keys(payloads) as Kind[];
  const tasks = ['one', 'two'].map((id) => ({ id, projectId: 'project' }));

  await runConcurrently(40, async (n) => {
    const kind = kinds[n % kinds.length];
    const { id } = await publish(gateway, user, kind, { id: `n-${n}`, task: tasks[n % 2] });
    if (n % 5 === 0) await resolve(gateway, user, n % 2 === 0 ? 'one' : 'two');
    if (n % 3 === 0) await runConcurrently(2, () => as(user).dismiss({ id }));
  });

  const rows = await readRows(user);
  expect(rows).toHaveLength(40);
  expect(new Set(rows.map(({ revision }) => revision)).size).toBe(40);
  expect(rows.at(-1)?.revision).toBe(await readRevision(user));
  const broken = await gateway.database.sql(
    `select * from notification where user_id = $1 and (
       (status = 'active' and (resolved_at is not null or dismissed_at is not null)) or
       (status = 'resolved' and (resolved_at is null or dismissed_at is not null)) or
       (status = 'dismissed' and dismissed_at is null) or
       ((resolved_at is null) <> (resolution is null)) or updated_at < created_at)`,
    [user],
  );
  expect(broken).toEqual([]);
});

test('revisions are counted per user', async () => {
  await runConcurrently(6, (n) => publish(gateway, `own-${n % 2}`, 'task_failed', { id: `n-${n}` }));
  for (const user of ['own-0', 'own-1']) {
    expect((await readRows(user)).map(({ revision }) => revision)).toEqual([1, 2, 3]);
  }
});
