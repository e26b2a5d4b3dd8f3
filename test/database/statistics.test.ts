import { createSecretKey, randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { rotateKeys } from '../../src/encryption/rotate-keys.ts';
import { createLog } from '../../src/log.ts';
import { countRecords, findRest, startCounting } from '../../src/statistics/count.ts';
import {
  beginTransaction,
  createTestDatabase,
  type TestDatabase,
  waitingSessions,
} from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { credentialVersion, publish, putWorkspaces, resolve, workspaceInput } from '../support/records.ts';
import { recordStatements } from '../support/statements.ts';
import { updateStatistics } from '../support/statistics.ts';
import { platform } from '../support/tokens.ts';

/* Statistics cover all users, so each test has its own database. */

async function start(settings: Record<string, string> = {}, shared?: TestDatabase): Promise<TestGateway> {
  const gateway = await startTestGateway(settings, shared);
  onTestFinished(() => gateway.close());
  return gateway;
}

const read = async (gateway: TestGateway) => {
  const all = `{ platform { statistics { asOf
    notifications { kind status count } workspaces { status count } editorCredentials { state count }
  } } }`;
  return (await gateway.as(platform).run(all)).platform.statistics;
};

/** Returns the numbers of connected and unreadable credentials, and of those that need re-authentication. */
const readCredentials = async (gateway: TestGateway) =>
  Object.fromEntries(
    (await read(gateway)).editorCredentials.map(({ state, count }: { state: string; count: number }) => [
      state,
      count,
    ]),
  );
const credentials = (CONNECTED: number, NEEDS_REAUTH: number, UNREADABLE: number) => ({
  CONNECTED,
  NEEDS_REAUTH,
  UNREADABLE,
});

const connectEditor = ({ as }: TestGateway, userId: string) =>
  as(userId).connectEditor({ accessToken: 'a', refreshToken: 'r' });

const encryptionKey = (id: string, key = randomBytes(32)) => ({
  ENCRYPTION_KEYS: `${id}:${key.toString('base64')}`,
});

test('counts notifications by kind and status, workspaces by status and credentials by state, over all users', async () => {
  const gateway = await start();
  const { as, database } = gateway;
  await updateStatistics(database);
  expect(await read(gateway)).toMatchObject({ notifications: [], workspaces: [] });
  expect(await readCredentials(gateway)).toEqual(credentials(0, 0, 0));

  await publish(gateway, 'a', 'plan_requested');
  await publish(gateway, 'b', 'plan_requested');
  await publish(gateway, 'b', 'question_requested', { task: { id: 't', projectId: 'p' } });
  await resolve(gateway, 'b', 't');
  await as('a').dismiss({ id: (await publish(gateway, 'a', 'task_failed')).id });

  await putWorkspaces(gateway, 'a', [workspaceInput(), workspaceInput({ status: 'ERROR' })]);
  await putWorkspaces(gateway, 'b', [workspaceInput()]);

  for (const user of ['a', 'b', 'c', 'd']) await connectEditor(gateway, user);
  await as('d').disconnectEditor();
  const version = await credentialVersion(gateway, 'c');
  await as(platform).reportEditorFailure({ userId: 'c', version, reason: 'TOKEN_EXPIRED' });

  await updateStatistics(database);
  expect(await read(gateway)).toMatchObject({
    notifications: [
      { kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 2 },
      { kind: 'QUESTION_REQUESTED', status: 'RESOLVED', count: 1 },
      { kind: 'TASK_FAILED', status: 'DISMISSED', count: 1 },
    ],
    workspaces: [
      { status: 'ERROR', count: 1 },
      { status: 'RUNNING', count: 2 },
    ],
  });
  expect(await readCredentials(gateway)).toEqual(credentials(2, 1, 0));
});

test('is null until all records were counted once, which a gateway does when it starts', async () => {
  const gateway = await start();
  await publish(gateway, 'a');
  expect(await read(gateway)).toBeNull();
  await gateway.database.sql('update statistics set due_at = now()');
  await start({}, gateway.database);
  await eventually(async () =>
    expect((await read(gateway))?.notifications).toEqual([
      { kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 1 },
    ]),
  );
});

test('asOf is when the count began, and earlier changes are counted, later ones in the next count', async () => {
  const gateway = await start();
  const started = Date.now();
  await putWorkspaces(gateway, 'a', [workspaceInput()]);
  await updateStatistics(gateway.database);
  const first = await read(gateway);
  await putWorkspaces(gateway, 'a', [workspaceInput()]);
  expect(await read(gateway)).toEqual(first);
  await updateStatistics(gateway.database);
  const second = await read(gateway);

  expect([first.workspaces, second.workspaces]).toMatchObject([[{ count: 1 }], [{ count: 2 }]]);
  const times = [started, Date.parse(first.asOf), Date.parse(second.asOf), Date.now()];
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(second.asOf).not.toBe(first.asOf);
});

test('after a rotation of keys, credentials are unreadable to gateways without the new key only', async () => {
  const [old, renewed] = [randomBytes(32), randomBytes(32)];
  const before = await start(encryptionKey('old', old));
  const after = await start(encryptionKey('renewed', renewed), before.database);
  for (const user of ['a', 'b']) await connectEditor(before, user);
  const [readable, unreadable] = [credentials(2, 0, 0), credentials(0, 0, 2)];
  await updateStatistics(before.database);
  expect([await readCredentials(before), await readCredentials(after)]).toEqual([readable, unreadable]);

  const opened = await openDatabase({ url: before.database.url, poolSize: 1, timeoutMs: 30_000 });
  onTestFinished(() => opened.close());
  const keys = new Map([
    ['renewed', createSecretKey(renewed)],
    ['old', createSecretKey(old)],
  ]);
  await rotateKeys(opened.fork(), keys, () => undefined);
  await updateStatistics(before.database);
  expect([await readCredentials(before), await readCredentials(after)]).toEqual([unreadable, readable]);
});

test.each([
  [2000, 298_000],
  [30_000, 270_000],
  [40_000, 360_000],
])('after a count of %d ms, the next one begins after %d ms: at most a tenth of the time', (took, rest) => {
  expect(findRest(took)).toBe(rest);
});

/** Opens a database as several processes do, which begin to count while a session keeps counts waiting. */
async function startProcesses(number: number) {
  const database = await createTestDatabase();
  const opened = await Promise.all(
    Array.from({ length: number }, () => openDatabase({ url: database.url, poolSize: 2, timeoutMs: 1000 })),
  );
  onTestFinished(async () => {
    await Promise.all(opened.map((one) => one.close()));
    await database.drop();
  });
  const blocker = await beginTransaction(database, 'lock table workspace in access exclusive mode');
  await database.sql('update statistics set due_at = now()');
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const running = opened.map((one) => startCounting(one, log));
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  const readRow = () =>
    database.sql(
      'select as_of is not null as counted, extract(epoch from due_at - now())::int as seconds from statistics',
    );
  const stop = () => Promise.all(running.map((counting) => counting.stop()));
  return { database, blocker, lines, readRow, stop };
}

test('one process counts, for longer than statements of requests may take, and the others do not wait', async () => {
  const { database, blocker, lines, readRow, stop } = await startProcesses(3);
  const waiting = performance.now();
  await eventually(async () => {
    expect(await waitingSessions(database)).toBe(1);
    expect(performance.now() - waiting).toBeGreaterThan(1500);
  });
  expect(await readRow()).toEqual([{ counted: false, seconds: expect.closeTo(600, -1.5) }]);
  await blocker.query('commit');
  await eventually(async () =>
    expect(await readRow()).toEqual([{ counted: true, seconds: expect.closeTo(300, -1.5) }]),
  );
  await stop();
  expect(lines).toEqual([]);
});

test('a count that fails is logged, keeps the last counts, and is repeated after ten minutes only', async () => {
  const { database, lines, readRow, stop } = await startProcesses(2);
  await database.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`,
  );
  await eventually(() => expect(lines).toEqual([expect.stringContaining('the last counts are shown')]));
  expect(await readRow()).toEqual([{ counted: false, seconds: expect.closeTo(600, -1.5) }]);
  expect(await waitingSessions(database)).toBe(0);
  await stop();
});

test('a process that is stopped does not wait for its count', async () => {
  const { lines, stop } = await startProcesses(1);
  const stopping = performance.now();
  await stop();
  expect(performance.now() - stopping).toBeLessThan(10_000);
  expect(lines).toEqual([]);
});

test('counting records is one statement, and reading the statistics reads none', async () => {
  const database = await createTestDatabase();
  const opened = await openDatabase({ url: database.url, poolSize: 1, timeoutMs: 30_000 });
  onTestFinished(async () => {
    await opened.close();
    await database.drop();
  });
  const countsRecords = ({ text }: { text: string }) =>
    /count\(.*"(notification|workspace|delivery)"/s.test(text);
  const counted = await recordStatements(() => countRecords(opened, new AbortController().signal));
  expect(counted.filter(countsRecords)).toHaveLength(1);
  const gateway = await start({}, database);
  expect((await recordStatements(() => read(gateway))).filter(countsRecords)).toEqual([]);
});
