import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, withServer } from './bench.ts';
import { createGatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { reportProgress, settle } from './output.ts';
import { takeSample } from './sample.ts';
import { startServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { distribute } from './workload.ts';
import { requestInbox } from './workloads.ts';

/** Milliseconds from `npm start` to the first reply of each path, as medians. */
export type StartUp = { title: string; healthz: number; graphql: number };

/** Resident memory of an idle gateway in KiB, after the start and after requests. */
export type IdleMemory = { atRest: number; afterRequests: number };

const STARTS = 5;
const QUICK_STARTS = 2;
const CONNECTIONS = 32;

/** Measures starts with an existing database: a configured one and an embedded one. */
export async function measureStartUp(bench: Bench): Promise<StartUp[]> {
  const production = { ...createGatewaySettings(bench), PORT: '0' };
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // As root, PostgreSQL runs as another account, which must be able to enter.
  await chmod(dataDir, 0o755);
  const embedded = { ...bench.issuer.environment, PORT: '0', DATA_DIR: dataDir };
  try {
    await startOnce(bench, embedded);
    return [
      await measureStarts(bench, 'npm start, DATABASE_URL', production),
      await measureStarts(bench, 'npm start, embedded PostgreSQL', embedded),
    ];
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function measureStarts(
  bench: Bench,
  title: string,
  environment: Record<string, string>,
): Promise<StartUp> {
  reportProgress(title);
  const starts: Omit<StartUp, 'title'>[] = [];
  for (let start = 0; start < (bench.options.isQuick ? QUICK_STARTS : STARTS); start += 1) {
    starts.push(await startOnce(bench, environment));
  }
  return {
    title,
    healthz: median(starts.map(({ healthz }) => healthz)),
    graphql: median(starts.map(({ graphql }) => graphql)),
  };
}

async function startOnce(bench: Bench, environment: Record<string, string>): Promise<Omit<StartUp, 'title'>> {
  const started = performance.now();
  const starting = startServerProcess({
    command: 'npm',
    args: ['start'],
    environment: () => environment,
    isLauncher: true,
  });
  return withServer(starting, async ({ address }) => {
    await expectOk(fetch(`${address}/healthz`));
    const healthz = performance.now() - started;
    const [request] = bench.callers.readers.flatMap(requestInbox());
    await expectOk(fetch(`${address}${request?.path}`, request));
    return { healthz, graphql: performance.now() - started };
  });
}

async function expectOk(reply: Promise<Response>): Promise<void> {
  const { status, url } = await reply;
  if (status !== 200) throw new Error(`${url} returned ${status} after the start.`);
}

/** Measures the memory of an idle gateway. */
export async function measureIdleMemory(bench: Bench): Promise<IdleMemory> {
  reportProgress('Memory of the idle gateway');
  return withServer(startGateway(createGatewaySettings(bench)), async (gateway) => {
    await settle();
    const atRest = await gateway.memory();
    await takeSample(bench, gateway, distribute(bench.callers.readers, CONNECTIONS, requestInbox()));
    await settle();
    return { atRest, afterRequests: await gateway.memory() };
  });
}
