import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { findUnprivilegedAccount, isRoot } from '../../dev/postgres/account.ts';
import { attachEmbeddedPostgres, startEmbeddedPostgres } from '../../dev/postgres/embedded-postgres.ts';
import {
  findInstalledPrograms,
  preparePrograms,
  runProgram,
  startProgram,
} from '../../dev/postgres/programs.ts';
import type { DatabaseServer } from '../../src/database/database-server.ts';
import { createAs } from '../support/as.ts';
import { existingDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder } from '../support/folder.ts';
import { createInbox } from '../support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { jwks } from '../support/tokens.ts';

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const cleanUps: (() => Promise<unknown>)[] = [];
const lastCleanUps: typeof cleanUps = [];
const notices: string[] = [];

afterEach(async () => {
  await runAll(cleanUps);
  notices.length = 0;
});
afterAll(() => runAll(lastCleanUps));

test('serves the database "gateway" in UTF-8 on the loopback address only, and requires the password', async () => {
  const server = await start(await useSharedDirectory());
  const settings = `select current_database() as database, current_setting('server_encoding') as encoding,
    current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets`;
  expect(await query(server.url, settings)).toEqual([
    { database: 'gateway', encoding: 'UTF8', addresses: '127.0.0.1', sockets: '' },
  ]);
  await expect(query(server.url.replace(/:\w+@/, ':wrong@'), 'select 1')).rejects.toThrow('password');
});

test('keeps data across a stop with connected clients and a restart', async () => {
  const dataDir = await useSharedDirectory();
  const first = await start(dataDir);
  await query(first.url, 'create table kept as select 42 as answer');
  const client = await connect(first.url);
  await first.stop();
  await expect(client.query('select 1')).rejects.toThrow();

  const second = await start(dataDir);
  expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
});

test('starts exactly one of two simultaneous first starts; the other reports the running gateway', async () => {
  const dataDir = await createDataDirectory();
  const results = await Promise.allSettled([start(dataDir), start(dataDir)]);
  const refusals = results.filter((result) => result.status === 'rejected');
  expect(refusals.map(({ reason }) => String(reason))).toEqual([expect.stringContaining('already using')]);
  expect(await readdir(dataDir)).toEqual(['postgresql']);
});

test('stops the server of a killed gateway, and starts it again', async () => {
  const dataDir = await useSharedDirectory();
  const { child, url } = await startOwnerProcess(dataDir);
  const orphan = await readPostmasterPid(dataDir);
  child.kill('SIGKILL');
  await once(child, 'exit');

  const successor = await start(dataDir);
  expect(await readPostmasterPid(dataDir)).not.toBe(orphan);
  expect(await query(successor.url, 'select 1 as up')).toEqual([{ up: 1 }]);
  await successor.stop();
  for (const stopped of [url, successor.url]) {
    await expect(query(stopped, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  }
});

test('a gateway remains the owner of its server after its connection broke', async () => {
  const dataDir = await useSharedDirectory();
  const owner = await start(dataDir);
  const client = await connect(owner.url);
  const locks = `from pg_locks where locktype = 'advisory' and granted`;
  await client.query(`select pg_terminate_backend(pid, 5000) ${locks}`);
  await vi.waitFor(async () => expect((await client.query(`select ${locks}`)).rowCount).toBe(1), 5_000);
  const command = await attach(dataDir);
  await command.stop();
  expect(await query(owner.url, 'select 1 as up')).toEqual([{ up: 1 }]);
  await owner.stop();
  await expect(query(owner.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('ignores a stale lock file whose process ID belongs to another process', async () => {
  const dataDir = await useSharedDirectory();
  await (await start(dataDir)).stop();
  const directory = await realpath(join(dataDir, 'postgresql/cluster'));
  const stale = [process.ppid, directory, 0, 1, '', '127.0.0.1', '', 'ready'];
  await writeFile(join(directory, 'postmaster.pid'), stale.join('\n'), { mode: 0o644 });
  const server = await start(dataDir);
  expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
});

test('recovers from a first start that was killed', async () => {
  const dataDir = await createDataDirectory();
  const child = spawnOwner(dataDir);
  await vi.waitFor(
    async () => {
      const [unfinished = ''] = await readdir(dataDir);
      await stat(join(dataDir, unfinished, 'cluster/base'));
    },
    { timeout: 10_000, interval: 5 },
  );
  killGroup(child);
  await once(child, 'exit');
  expect(await readdir(dataDir)).toEqual([expect.stringMatching(/^initializing-/)]);

  const server = await start(dataDir);
  expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
  expect(await readdir(dataDir)).toEqual(['postgresql']);
});

test('only the owner can read the files with the password and the port', async () => {
  const dataDir = await useSharedDirectory();
  await start(dataDir);
  for (const path of ['postgresql/password', 'postgresql/cluster/postmaster.pid']) {
    expect(await readMode(join(dataDir, path))).toBe(0o600);
  }
  expect(await readMode(join(dataDir, 'postgresql/cluster'))).toBe(0o700);
  expect(await readdir(join(dataDir, 'postgresql'))).toEqual(['cluster', 'password']);
});

if (isRoot()) {
  test('as root in a private folder, stores the cluster elsewhere and reports where in one line', async () => {
    const dataDir = await createDataDirectory(0o700);
    const server = await start(dataDir);
    expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
    const location = await realpath(join(dataDir, 'postgresql/cluster'));
    expect(notices).toEqual([expect.stringContaining(location)]);
    expect(notices.join()).toMatch(/^PostgreSQL refuses to run as root, and the account \w+ .* cannot read/);
    expect(await readMode(dirname(dataDir))).toBe(0o700);

    await server.stop();
    await start(dataDir);
    expect(await realpath(join(dataDir, 'postgresql/cluster'))).toBe(location);
  });

  test("as root, runs a copy of programs in a folder that PostgreSQL's account cannot read", async () => {
    const account = await findUnprivilegedAccount();
    const closed = join(dirname(await createDataDirectory(0o700)), 'native');
    const filter = (path: string) => !/\.a$|timezone|extension/.test(path);
    await cp((await findInstalledPrograms()).directory, closed, {
      recursive: true,
      verbatimSymlinks: true,
      filter,
    });
    const programs = await preparePrograms({ directory: closed, version: `test-${process.pid}` }, account);
    cleanUps.push(() => rm(programs.directory, { recursive: true }));
    await runProgram(startProgram(programs, account, ['postgres', '--version']));
  });
} else {
  test('as another user in a private folder, stores the cluster in the data directory', async () => {
    const dataDir = await createDataDirectory(0o700);
    const server = await start(dataDir);
    expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
    expect(await realpath(join(dataDir, 'postgresql'))).toBe(join(dataDir, 'postgresql'));
    expect(notices).toEqual([]);
  });

  test('as another user, runs the installed programs', async () => {
    const installed = await findInstalledPrograms();
    expect(await preparePrograms(installed, undefined)).toEqual(installed);
  });
}

describe('a gateway whose PostgreSQL exits', () => {
  let dataDir: string;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    dataDir = await createDataDirectory(0o755, lastCleanUps);
    await copyCluster(dataDir);
    gateway = await startGatewayProcess({
      DATA_DIR: dataDir,
      DATABASE_TIMEOUT_MS: '1000',
      AUTH_JWKS: JSON.stringify(jwks),
      RATE_LIMIT_READS_PER_MINUTE: '0',
      GRAPHIQL: 'false',
      LOG_LEVEL: 'silent',
    });
  });
  afterAll(() => gateway.stop());

  const kill = (signal: NodeJS.Signals = 'SIGKILL') =>
    // The file can be that of a server which was just replaced.
    eventually(async () => process.kill(await readPostmasterPid(dataDir), signal));
  const readiness = async () => (await fetch(`${gateway.address}/readyz`)).status;
  const isReady = () => eventually(async () => expect(await readiness()).toBe(200));

  /** Lists notifications, in far less time than clients wait. */
  async function list(user: string) {
    const started = performance.now();
    const { status, body } = await createAs(gateway)(user).rest.get('/user/notifications');
    expect(performance.now() - started).toBeLessThan(5000);
    return { status, ids: body.notifications?.map(({ id }: { id: string }) => id) };
  }

  test.each(['SIGKILL', 'SIGINT'] as const)(
    'restarts it after %s, without losing committed data or missing a live event',
    async (signal) => {
      const user = `user of ${signal}`;
      const inbox = createInbox(user);
      await inbox.subscribe(gateway);
      const { id } = await publish(gateway, user);
      await kill(signal);
      const replies = await eventually(async () => {
        expect(await readiness()).toBe(503);
        return Promise.all([list(user), list(user)]);
      });
      for (const { status } of replies) expect([200, 500]).toContain(status);
      await eventually(async () => expect(await list(user)).toMatchObject({ status: 200 }));
      expect((await list(user)).ids).toContain(id);
      await isReady();
      await publish(gateway, user);
      await inbox.expectToConverge(existingDatabase((await attach(dataDir)).url));
      inbox.unsubscribe();
    },
  );

  test('restarts it as often as it exits', { timeout: 60_000 }, async () => {
    const countRestarts = () =>
      gateway.stdout().match(/PostgreSQL exited unexpectedly and was restarted\./g)?.length ?? 0;
    for (const count of [1, 2, 3].map((more) => countRestarts() + more)) {
      await kill();
      await eventually(() => expect(countRestarts()).toBe(count));
      await isReady();
    }
  });

  test('exits with the reason if it cannot be restarted', async () => {
    await writeFile(join(dataDir, 'postgresql/cluster/PG_VERSION'), '12\n');
    await kill();
    const { status, stderr } = await gateway.ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/^PostgreSQL could not start on \/.*[\s\S]*incompatible with server/);
  });
});

async function runAll(actions: (() => Promise<unknown>)[]): Promise<void> {
  for (const action of actions.splice(0).reverse()) await action();
}

let used: Promise<string> | undefined;

/** Returns a data directory with an initialized cluster that tests share; no server runs on it. */
function useSharedDirectory(): Promise<string> {
  used ??= createDataDirectory(0o755, lastCleanUps).then(async (dataDir) => {
    await copyCluster(dataDir);
    return dataDir;
  });
  return used;
}

/** Creates a data directory in a folder with the given mode. */
async function createDataDirectory(mode = 0o755, removals = cleanUps): Promise<string> {
  const folder = await makeFolder(mode);
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  removals.push(async () => {
    const location = await realpath(join(dataDir, 'postgresql')).catch(() => folder);
    for (const path of [location, folder]) await rm(path, { recursive: true, force: true });
  });
  return dataDir;
}

async function start(dataDir: string): Promise<DatabaseServer> {
  const server = await startEmbeddedPostgres({ dataDir, printLine: (line) => notices.push(line) });
  cleanUps.push(server.stop);
  return server;
}

async function attach(dataDir: string): Promise<DatabaseServer> {
  const server = await attachEmbeddedPostgres({ dataDir, printLine: (line) => notices.push(line) });
  cleanUps.push(server.stop);
  return server;
}

/** Starts PostgreSQL in another process, in its own process group, which runs until it is killed. */
function spawnOwner(dataDir: string): ChildProcess {
  const module = new URL('../../dev/postgres/embedded-postgres.ts', import.meta.url).href;
  const program = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const { url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, printLine() {} });
    process.stdout.write(url);`;
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: [...stdio],
    detached: true,
  });
  cleanUps.push(async () => killGroup(child));
  return child;
}

async function startOwnerProcess(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawnOwner(dataDir);
  cleanUps.push(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await start(dataDir).then((successor) => successor.stop());
  });
  const [url] = await once(child.stdout ?? child, 'data');
  return { child, url: String(url) };
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
}

async function readPostmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgresql/cluster/postmaster.pid'), 'utf8'), 10);
}

async function readMode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  cleanUps.push(() => client.end());
  return client;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
