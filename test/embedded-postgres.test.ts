import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { findUnprivilegedAccount, isRoot } from '../src/postgres/embedded-account.ts';
import {
  attachEmbeddedPostgres,
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from '../src/postgres/embedded-postgres.ts';
import {
  findInstalledPrograms,
  preparePrograms,
  runProgram,
  startProgram,
} from '../src/postgres/embedded-programs.ts';
import { copyCluster } from './support/cluster.ts';
import { makeFolder } from './support/folder.ts';

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const cleanUps: (() => Promise<unknown>)[] = [];
const lastCleanUps: typeof cleanUps = [];
const notices: string[] = [];

afterEach(async () => {
  await runAll(cleanUps);
  notices.length = 0;
});
afterAll(() => runAll(lastCleanUps));

test('serves the database "gateway" in UTF-8, by password and on the loopback address alone', async () => {
  const server = await start(await usedDirectory());
  const settings = `select current_database() as database, current_setting('server_encoding') as encoding,
    current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets`;
  expect(await query(server.url, settings)).toEqual([
    { database: 'gateway', encoding: 'UTF8', addresses: '127.0.0.1', sockets: '' },
  ]);
  await expect(query(server.url.replace(/:\w+@/, ':wrong@'), 'select 1')).rejects.toThrow('password');
});

test('what was written is there after a stop, with clients connected, and a new start', async () => {
  const dataDir = await usedDirectory();
  const first = await start(dataDir);
  await query(first.url, 'create table kept as select 42 as answer');
  const client = await connected(first.url);
  await first.stop();
  await expect(client.query('select 1')).rejects.toThrow();

  const second = await start(dataDir);
  expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
});

test('a second start in another process is told that a gateway is already running', async () => {
  const dataDir = await usedDirectory();
  await startedInAnotherProcess(dataDir);
  const refusal = await start(dataDir).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(EmbeddedPostgresError);
  expect(String(refusal)).toMatch(
    `A gateway is already running on the data directory ${dataDir} (PostgreSQL process ${await postmaster(dataDir)})`,
  );
  expect(String(refusal)).toContain('or set DATA_DIR to another directory, or set DATABASE_URL');
});

test('of two first starts at the same instant one wins and the other is told', async () => {
  const dataDir = await dataDirectory();
  const results = await Promise.allSettled([start(dataDir), start(dataDir)]);
  const refusals = results.filter((result) => result.status === 'rejected');
  expect(refusals.map(({ reason }) => String(reason))).toEqual([expect.stringContaining('already running')]);
  expect(await readdir(dataDir)).toEqual(['postgresql']);
});

test('a command attaches to the server of a gateway and leaves it up', async () => {
  const dataDir = await usedDirectory();
  const owner = await start(dataDir);
  const command = await attach(dataDir);
  expect(command.url).toBe(owner.url);
  await command.stop();
  expect(await query(owner.url, 'select 1 as up')).toEqual([{ up: 1 }]);
});

test('a command without a gateway starts the server for the time being', async () => {
  const dataDir = await usedDirectory();
  const command = await attach(dataDir);
  expect(await query(command.url, 'select 1 as up')).toEqual([{ up: 1 }]);
  await command.stop();
  await expect(query(command.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('the server of a gateway that was killed is taken over, and stopped in the end', async () => {
  const dataDir = await usedDirectory();
  const { child, url } = await startedInAnotherProcess(dataDir);
  const orphan = await postmaster(dataDir);
  child.kill('SIGKILL');
  await once(child, 'exit');

  const heir = await start(dataDir);
  expect(heir.url).toBe(url);
  expect(await postmaster(dataDir)).toBe(orphan);
  await heir.stop();
  await expect(query(url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('an owner whose connection broke owns the server still', async () => {
  const dataDir = await usedDirectory();
  const owner = await start(dataDir);
  const client = await connected(owner.url);
  const locks = `from pg_locks where locktype = 'advisory' and granted`;
  await client.query(`select pg_terminate_backend(pid, 5000) ${locks}`);
  await vi.waitFor(async () => expect((await client.query(`select ${locks}`)).rowCount).toBe(1), 5_000);
  const command = await attach(dataDir);
  await command.stop();
  expect(await query(owner.url, 'select 1 as up')).toEqual([{ up: 1 }]);
  await owner.stop();
  await expect(query(owner.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a server that died does not keep its owner from stopping', async () => {
  const dataDir = await usedDirectory();
  const owner = await start(dataDir);
  process.kill(await postmaster(dataDir), 'SIGKILL');
  await owner.stop();
  const next = await start(dataDir);
  expect(await query(next.url, 'select 1 as up')).toEqual([{ up: 1 }]);
});

test('a lock file of old, whose process number is another process by now, does not keep it from starting', async () => {
  const dataDir = await usedDirectory();
  await (await start(dataDir)).stop();
  const directory = await realpath(join(dataDir, 'postgresql/cluster'));
  const stale = [process.ppid, directory, 0, 1, '', '127.0.0.1', '', 'ready'];
  await writeFile(join(directory, 'postmaster.pid'), stale.join('\n'), { mode: 0o644 });
  const server = await start(dataDir);
  expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
});

test('a first start that was killed half way is made good by the next', async () => {
  const dataDir = await dataDirectory();
  const child = inAnotherProcess(dataDir);
  await vi.waitFor(
    async () => {
      const [unfinished = ''] = await readdir(dataDir);
      await stat(join(dataDir, unfinished, 'cluster/base'));
    },
    { timeout: 10_000, interval: 5 },
  );
  killGroup(child);
  await once(child, 'exit');
  expect(await readdir(dataDir)).toEqual([expect.stringMatching(/^initialising-/)]);

  const server = await start(dataDir);
  expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
  expect(await readdir(dataDir)).toEqual(['postgresql']);
});

test('the files that hold the password and the port are for their owner alone', async () => {
  const dataDir = await usedDirectory();
  await start(dataDir);
  for (const path of ['postgresql/password', 'postgresql/cluster/postmaster.pid']) {
    expect(await modeOf(join(dataDir, path))).toBe(0o600);
  }
  expect(await modeOf(join(dataDir, 'postgresql/cluster'))).toBe(0o700);
  expect(await readdir(join(dataDir, 'postgresql'))).toEqual(['cluster', 'password']);
});

test("a cluster of another version is refused by name, with PostgreSQL's own words", async () => {
  const dataDir = await usedDirectory();
  await (await start(dataDir)).stop();
  const directory = join(dataDir, 'postgresql/cluster');
  const versionFile = join(directory, 'PG_VERSION');
  const version = await readFile(versionFile, 'utf8');
  cleanUps.push(() => writeFile(versionFile, version));
  await writeFile(versionFile, '12\n');
  const refusal = await start(dataDir).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(EmbeddedPostgresError);
  expect(String(refusal)).toContain(directory);
  expect(String(refusal)).toContain('database files are incompatible with server');
});

if (isRoot()) {
  test('root below a folder that is closed to others: the cluster lies elsewhere, and one line says where', async () => {
    const dataDir = await dataDirectory(0o700);
    const server = await start(dataDir);
    expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
    const elsewhere = await realpath(join(dataDir, 'postgresql/cluster'));
    expect(notices).toEqual([expect.stringContaining(elsewhere)]);
    expect(notices.join()).toMatch(/^PostgreSQL refuses to run as root, and the account \w+ .* cannot read/);
    expect(await modeOf(dirname(dataDir))).toBe(0o700);

    await server.stop();
    await start(dataDir);
    expect(await realpath(join(dataDir, 'postgresql/cluster'))).toBe(elsewhere);
  });

  test("programs below a folder that is closed to PostgreSQL's account run from a copy", async () => {
    const account = await findUnprivilegedAccount();
    const closed = join(dirname(await dataDirectory(0o700)), 'native');
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
  test('an ordinary user below a folder that is closed to others: everything stays in place', async () => {
    const dataDir = await dataDirectory(0o700);
    const server = await start(dataDir);
    expect(await query(server.url, 'select 1 as up')).toEqual([{ up: 1 }]);
    expect(await realpath(join(dataDir, 'postgresql'))).toBe(join(dataDir, 'postgresql'));
    expect(notices).toEqual([]);
  });

  test("an ordinary user's programs run from where they were installed", async () => {
    const installed = await findInstalledPrograms();
    expect(await preparePrograms(installed, undefined)).toEqual(installed);
  });
}

async function runAll(actions: (() => Promise<unknown>)[]): Promise<void> {
  for (const action of actions.splice(0).reverse()) await action();
}

let used: Promise<string> | undefined;

/** A data directory with a cluster that tests share; no server runs on it. */
function usedDirectory(): Promise<string> {
  used ??= dataDirectory(0o755, lastCleanUps).then(async (dataDir) => {
    await copyCluster(dataDir);
    return dataDir;
  });
  return used;
}

/** A new data directory, in a folder of the given mode. */
async function dataDirectory(mode = 0o755, removals = cleanUps): Promise<string> {
  const folder = await makeFolder(mode);
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  removals.push(async () => {
    const elsewhere = await realpath(join(dataDir, 'postgresql')).catch(() => folder);
    for (const path of [elsewhere, folder]) await rm(path, { recursive: true, force: true });
  });
  return dataDir;
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, report: (line) => notices.push(line) });
  cleanUps.push(server.stop);
  return server;
}

async function attach(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await attachEmbeddedPostgres({ dataDir, report: (line) => notices.push(line) });
  cleanUps.push(server.stop);
  return server;
}

/** A gateway's process, in a process group of its own, that stays until it is killed. */
function inAnotherProcess(dataDir: string): ChildProcess {
  const module = new URL('../src/postgres/embedded-postgres.ts', import.meta.url).href;
  const program = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(module)});
    const { url } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, report() {} });
    process.stdout.write(url);`;
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: [...stdio],
    detached: true,
  });
  cleanUps.push(async () => killGroup(child));
  return child;
}

async function startedInAnotherProcess(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = inAnotherProcess(dataDir);
  cleanUps.push(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await start(dataDir).then((heir) => heir.stop());
  });
  const [url] = await once(child.stdout ?? child, 'data');
  return { child, url: String(url) };
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
}

async function postmaster(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgresql/cluster/postmaster.pid'), 'utf8'), 10);
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

async function connected(url: string): Promise<pg.Client> {
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
