import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bench, during } from './bench.ts';
import { gatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { sampleOf } from './sample.ts';
import { tell } from './say.ts';
import { startServerProcess } from './server-process.ts';
import { median } from './statistics.ts';
import { deal } from './work.ts';
import { askForInbox } from './works.ts';

/** Milliseconds from `npm start` to the first replies, medians of several starts. */
export type StartUp = { title: string; healthz: number; graphql: number };

/** Resident memory in KiB: at rest some seconds after the start, and after requests. */
export type Rest = { atRest: number; afterRequests: number };

const STARTS = 5;
const STARTS_WHEN_QUICK = 2;
const REST_MS = 3000;
const CONNECTIONS = 32;

/** Measures starts with the database there: one that is configured, and the embedded one's files. */
export async function measureStartUp(bench: Bench): Promise<StartUp[]> {
  const production = { ...gatewaySettings(bench), PORT: '0' };
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // PostgreSQL does not run as root and enters by another account.
  await chmod(dataDir, 0o755);
  const embedded = { ...bench.issuer.environment, PORT: '0', DATA_DIR: dataDir };
  try {
    await startOnce(bench, embedded);
    return [
      await measureStarts(bench, 'npm start, DATABASE_URL', production),
      await measureStarts(bench, 'npm start, embedded PostgreSQL that has its files', embedded),
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
  tell(title);
  const starts: Omit<StartUp, 'title'>[] = [];
  for (let start = 0; start < (bench.options.isQuick ? STARTS_WHEN_QUICK : STARTS); start += 1) {
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
  return during(starting, async ({ address }) => {
    await expectOk(fetch(`${address}/healthz`));
    const healthz = performance.now() - started;
    const [request] = bench.callers.readers.flatMap(askForInbox());
    await expectOk(fetch(`${address}${request?.path}`, request));
    return { healthz, graphql: performance.now() - started };
  });
}

async function expectOk(reply: Promise<Response>): Promise<void> {
  const { status, url } = await reply;
  if (status !== 200) throw new Error(`${url} was answered ${status} after the start.`);
}

/** Measures the memory of a gateway that has nothing to do. */
export async function measureRest(bench: Bench): Promise<Rest> {
  tell('Memory at rest');
  return during(startGateway(gatewaySettings(bench)), async (gateway) => {
    await pause(REST_MS);
    const atRest = await gateway.memory();
    await sampleOf(bench, gateway, deal(bench.callers.readers, CONNECTIONS, askForInbox()));
    await pause(REST_MS);
    return { atRest, afterRequests: await gateway.memory() };
  });
}
