import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { compileCache, type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { freePort } from '../support/servers.ts';

const FAILED = 'gateway_log_write_failures_total';
const DROPPED = 'gateway_log_lines_dropped_total';

let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = await makeFolder();
  await copyCluster(join(folder, 'data'));
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
  await removeFolder(folder);
});

const health = async (gateway: { address: string }) => (await fetch(`${gateway.address}/healthz`)).status;

const REQUESTS = 150;
/** A file that does not exist. Only paths of endpoints are logged. */
const PATH = `/docs/assets/${'x'.repeat(10_000)}`;

/** Writes 1.5 MB to the log: every line contains the whole path. */
async function fillLog(gateway: { address: string }): Promise<void> {
  for (let count = 0; count < REQUESTS; count += 1) {
    const reply = await fetch(`${gateway.address}${PATH}`);
    expect(reply.status).toBe(404);
    await reply.text();
  }
}

test('with a full disk as standard output, a gateway serves requests, counts failed writes and stops cleanly', async () => {
  const dataDir = join(folder, 'data');
  const port = await freePort();
  const child = spawn(process.execPath, [fileURLToPath(new URL('../../src/main.ts', import.meta.url))], {
    env: { NODE_COMPILE_CACHE: compileCache, DATA_DIR: dataDir, PORT: String(port) },
    stdio: ['ignore', openSync('/dev/full', 'w'), 'inherit'],
  });
  const ended = once(child, 'exit');
  const gateway = { address: `http://127.0.0.1:${port}` };

  await eventually(async () => expect(await health(gateway)).toBe(200));
  await eventually(async () => expect((await scrape(gateway)).sum(FAILED)).toBeGreaterThan(0));
  expect((await scrape(gateway)).sum(DROPPED)).toBe(0);
  child.kill();
  expect(await ended).toEqual([0, null]);
  expect(existsSync(join(dataDir, 'postgresql/cluster/postmaster.pid'))).toBe(false);
});

describe('without a reader of the log', () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGatewayProcess(settingsFor(database));
  });
  afterAll(() => gateway.stop('SIGKILL'));

  /** Fills the log until lines are dropped. */
  async function expectDroppedLines(): Promise<void> {
    const before = await scrape(gateway);
    await fillLog(gateway);
    await eventually(async () => {
      const after = await scrape(gateway);
      const count = (name: string) => (after.sum(name) ?? 0) - (before.sum(name) ?? 0);
      expect(count(FAILED)).toBeGreaterThan(0);
      expect(count(DROPPED)).toBeGreaterThan(0);
      // The pipe and its reader buffer less than 256 KiB.
      expect(count(DROPPED)).toBeLessThan(60);
    });
    expect(await health(gateway)).toBe(200);
  }

  test('while the reader is paused, a gateway serves requests, counts failed writes and buffers 1 MiB', async () => {
    gateway.pause();
    await expectDroppedLines();
  });

  test('when the reader resumes, it writes buffered lines in order', async () => {
    gateway.resume();
    await eventually(() => expect(gateway.stdout().length).toBeGreaterThan(1_000_000));
    const dropped = (await scrape(gateway)).sum(DROPPED) ?? 0;
    const written = await eventually(() => {
      const lines = gateway.stdout().split('\n').slice(0, -1);
      const requests = lines.filter((line) => line.includes(PATH));
      expect(requests).toHaveLength(REQUESTS - dropped);
      return requests;
    });
    const times = written.map((line) => JSON.parse(line).time);
    expect(times).toEqual([...times].sort());
    expect(times.length).toBeGreaterThan(90);
  });

  test('with a closed log, it serves requests, counts failed writes, buffers 1 MiB and stops', async () => {
    gateway.closeOutput();
    await expectDroppedLines();
    expect(await gateway.stop()).toMatchObject({ status: 0, stderr: '' });
  });
});
