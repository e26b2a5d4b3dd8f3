import { createSecretKey, randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { rotateKeys } from '../../src/encryption/rotate-keys.ts';
import { createLog } from '../../src/log.ts';
import { countRecords, findRest, startCounting } from '../../src/statistics/count.ts';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  asPlatform,
  credentialVersion,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { recordStatements } from '../support/statements.ts';
import { updateStatistics } from '../support/statistics.ts';
import { member } from '../support/tokens.ts';

/* Statistics cover all users, so each test has its own database. */

let empty: TestGateway;
let filled: TestGateway;
beforeAll(async () => {
  empty = await startTestGateway();
  filled = await startTestGateway();
});
afterAll(async () => {
  await empty.close();
  await filled.close();
});

const all = `{ platform { statistics {
  notifications { kind status count } workspaces { status count } editorCredentials { state count }
} } }`;

const storePair = async (gateway: TestGateway, userId: string) =>
  rest(gateway, 'PUT', '/editor/auth/subscription', {
    token: await member(userId),
    body: { accessToken: 'a', refreshToken: 'r' },
  });

test('without records, returns zero for every credential state and empty lists otherwise', async () => {
  await updateStatistics(empty.database);
  const { statistics } = (await asPlatform(empty, all)).platform;
  expect(statistics).toEqual({
    notifications: [],
    workspaces: [],
    editorCredentials: ['CONNECTED', 'NEEDS_REAUTH', 'UNREADABLE'].map((state) => ({ state, count: 0 })),
  });
});

test('counts notifications by kind and status, workspaces by status and credentials by state, over all users', async () => {
  const task = { id: 't', projectId: 'p' };
  await publish(filled, 'a', 'plan_requested');
  await publish(filled, 'b', 'plan_requested');
  await publish(filled, 'b', 'question_requested', { task });
  await resolve(filled, 'b', 't');
  const { id } = await publish(filled, 'a', 'task_failed');
  await rest(filled, 'POST', `/user/notifications/${id}/dismiss`, { token: await member('a') });

  await putWorkspaces(filled, 'a', [workspaceInput(), workspaceInput({ status: 'ERROR' })]);
  await putWorkspaces(filled, 'b', [workspaceInput()]);

  for (const user of ['a', 'b', 'c', 'd']) await storePair(filled, user);
  await rest(filled, 'DELETE', '/editor/auth', { token: await member('d') });
  await asPlatform(
    filled,
    `mutation ($version: ID!) {
      reportEditorAuthFailure(input: { userId: "c", version: $version, reason: TOKEN_EXPIRED }) { applied }
    }`,
    { version: await credentialVersion(filled, 'c') },
  );

  await updateStatistics(filled.database);
  const { statistics } = (await asPlatform(filled, all)).platform;
  expect(statistics).toEqual({
    notifications: [
      { kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 2 },
      { kind: 'QUESTION_REQUESTED', status: 'RESOLVED', count: 1 },
      { kind: 'TASK_FAILED', status: 'DISMISSED', count: 1 },
    ],
    workspaces: [
      { status: 'ERROR', count: 1 },
      { status: 'RUNNING', count: 2 },
    ],
    editorCredentials: [
      { state: 'CONNECTED', count: 2 },
      { state: 'NEEDS_REAUTH', count: 1 },
      { state: 'UNREADABLE', count: 0 },
    ],
  });

  const keys = `other:${randomBytes(32).toString('base64')}`;
  const other = await startTestGateway({ ENCRYPTION_KEYS: keys }, filled.database);
  await storePair(other, 'e');
  await updateStatistics(filled.database);
  const { editorCredentials } = (await asPlatform(other, all)).platform.statistics;
  await other.close();
  expect(editorCredentials).toEqual([
    { state: 'CONNECTED', count: 1 },
    { state: 'NEEDS_REAUTH', count: 0 },
    { state: 'UNREADABLE', count: 3 },
  ]);
});

test('is null until all records were counted once, which a gateway does when it starts', async () => {
  const gateway = await startTestGateway();
  const read = async () => (await asPlatform(gateway, all)).platform.statistics;
  await publish(gateway, 'a');
  expect(await read()).toBeNull();
  await gateway.database.sql('update statistics set due_at = now()');
  const other = await startTestGateway({}, gateway.database);
  await eventually(async () =>
    expect((await read())?.notifications).toEqual([{ kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 1 }]),
  );
  await other.close();
  await gateway.close();
});

test('asOf is when the count began, and earlier changes are counted, later ones in the next count', async () => {
  const gateway = await startTestGateway();
  const read = async () =>
    (await asPlatform(gateway, '{ platform { statistics { asOf workspaces { count } } } }')).platform
      .statistics;
  const started = Date.now();
  await putWorkspaces(gateway, 'a', [workspaceInput()]);
  await updateStatistics(gateway.database);
  const first = await read();
  await putWorkspaces(gateway, 'a', [workspaceInput()]);
  expect(await read()).toEqual(first);
  await updateStatistics(gateway.database);
  const second = await read();
  await gateway.close();

  expect([first.workspaces, second.workspaces]).toEqual([[{ count: 1 }], [{ count: 2 }]]);
  expect(Date.parse(first.asOf)).toBeGreaterThanOrEqual(started);
  expect(Date.parse(second.asOf)).toBeGreaterThan(Date.parse(first.asOf));
  expect(Date.parse(second.asOf)).toBeLessThanOrEqual(Date.now());
});

test('after a rotation of keys, credentials are unreadable to gateways without the new key only', async () => {
  const [old, renewed] = [randomBytes(32), randomBytes(32)];
  const before = await startTestGateway({ ENCRYPTION_KEYS: `old:${old.toString('base64')}` });
  const settings = { ENCRYPTION_KEYS: `renewed:${renewed.toString('base64')}` };
  const after = await startTestGateway(settings, before.database);
  for (const user of ['a', 'b']) await storePair(before, user);
  const read = async (gateway: TestGateway) =>
    (await asPlatform(gateway, all)).platform.statistics.editorCredentials.map(
      ({ count }: { count: number }) => count,
    );
  await updateStatistics(before.database);
  expect([await read(before), await read(after)]).toEqual([
    [2, 0, 0],
    [0, 0, 2],
  ]);

  const opened = await openDatabase({ url: before.database.url, poolSize: 1, timeoutMs: 30_000 });
  const keys = new Map([
    ['renewed', createSecretKey(renewed)],
    ['old', createSecretKey(old)],
  ]);
  await rotateKeys(opened.fork(), keys, () => undefined);
  await opened.close();
  await updateStatistics(before.database);
  expect([await read(before), await read(after)]).toEqual([
    [0, 0, 2],
    [2, 0, 0],
  ]);
  await after.close();
  await before.close();
});

test.each([
  [0, 300_000],
  [2000, 298_000],
  [30_000, 270_000],
  [40_000, 360_000],
])('after a count of %d ms, the next one begins after %d ms: at most a tenth of the time', (took, rest) => {
  expect(findRest(took)).toBe(rest);
});

/** Opens a database as several processes do, and a session that keeps counts waiting. */
async function withProcesses(
  number: number,
  run: (
    database: TestDatabase,
    processes: { start(): { stop(): Promise<void> }; lines: string[] }[],
    blocker: pg.Client,
  ) => Promise<void>,
): Promise<void> {
  const database = await createTestDatabase();
  const opened = await Promise.all(
    Array.from({ length: number }, () => openDatabase({ url: database.url, poolSize: 2, timeoutMs: 1000 })),
  );
  const processes = opened.map((one) => {
    const lines: string[] = [];
    const log = createLog('info', { write: (line) => lines.push(line) });
    return { start: () => startCounting(one, log), lines };
  });
  const blocker = new pg.Client({ connectionString: database.url });
  await blocker.connect();
  try {
    await blocker.query('begin; lock table workspace in access exclusive mode');
    await database.sql('update statistics set due_at = now()');
    await run(database, processes, blocker);
  } finally {
    await blocker.end();
    await Promise.all(opened.map((one) => one.close()));
    await database.drop();
  }
}

const readRow = async ({ sql }: TestDatabase) =>
  (
    await sql(
      'select as_of is not null as counted, extract(epoch from due_at - now())::int as seconds from statistics',
    )
  )[0];

test('one process counts, for longer than statements of requests may take, and the others do not wait', async () => {
  await withProcesses(3, async (database, processes, blocker) => {
    const running = processes.map(({ start }) => start());
    await eventually(async () => expect(await waitingSessions(database)).toBe(1));
    const waiting = performance.now();
    await eventually(async () => {
      expect(await waitingSessions(database)).toBe(1);
      expect(performance.now() - waiting).toBeGreaterThan(1500);
    });
    expect(await readRow(database)).toEqual({ counted: false, seconds: expect.closeTo(600, -1.5) });
    await blocker.query('commit');
    await eventually(async () =>
      expect(await readRow(database)).toEqual({ counted: true, seconds: expect.closeTo(300, -1.5) }),
    );
    await Promise.all(running.map(({ stop }) => stop()));
    expect(processes.flatMap(({ lines }) => lines)).toEqual([]);
  });
});

test('a count that fails is logged, keeps the last counts, and is repeated after ten minutes only', async () => {
  await withProcesses(2, async (database, processes) => {
    const running = processes.map(({ start }) => start());
    await eventually(async () => expect(await waitingSessions(database)).toBe(1));
    await database.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    await eventually(() => expect(processes.flatMap(({ lines }) => lines)).toHaveLength(1));
    expect(processes.flatMap(({ lines }) => lines)[0]).toContain('the last counts are shown');
    expect(await readRow(database)).toEqual({ counted: false, seconds: expect.closeTo(600, -1.5) });
    expect(await waitingSessions(database)).toBe(0);
    await Promise.all(running.map(({ stop }) => stop()));
  });
});

test('a process that is stopped does not wait for its count', async () => {
  await withProcesses(1, async (database, processes) => {
    const running = processes.map(({ start }) => start());
    await eventually(async () => expect(await waitingSessions(database)).toBe(1));
    const stopping = performance.now();
    await Promise.all(running.map(({ stop }) => stop()));
    expect(performance.now() - stopping).toBeLessThan(10_000);
    expect(processes.flatMap(({ lines }) => lines)).toEqual([]);
  });
});

test('reading the statistics reads no records, and counting them is one statement', async () => {
  const query =
    '{ platform { statistics { notifications { count } workspaces { count } deliveries { count } } } }';
  const isOfRecords = ({ text }: { text: string }) => /"(notification|workspace|delivery)"/.test(text);
  const read = await recordStatements(() => asPlatform(filled, query));
  expect(read.filter(isOfRecords)).toEqual([]);
  const opened = await openDatabase({ url: filled.database.url, poolSize: 1, timeoutMs: 30_000 });
  const counted = await recordStatements(() => countRecords(opened, new AbortController().signal));
  await filled.database.sql(`update statistics set due_at = '9999-01-01'`);
  await opened.close();
  expect(counted.filter(isOfRecords)).toHaveLength(1);
});
