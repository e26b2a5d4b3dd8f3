import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { type Checkout, createSettings, type Issuer, startGateway } from './gateway.ts';
import { type LoadRequest, runLoad } from './load.ts';
import { CONNECTIONS, range, send } from './records.ts';
import { formatRange, rangeOf } from './report.ts';
import { startServer } from './server.ts';
import { workloads } from './workloads.ts';

const STARTS = 6;
const SETTLE_MS = 60_000;

/** Measures the time from `npm start` to the first list, and the memory of an idle gateway, before and after lists. */
export async function measureStartUp(bench: Bench): Promise<string[][]> {
  const { options, users, issuer } = bench;
  const requests = range(CONNECTIONS).map((lane) => workloads.notifications?.requests(users, lane, '') ?? []);
  const rows: string[][] = [];
  for (const checkout of bench.checkouts) {
    const starts: number[] = [];
    for (const _start of range(options.isQuick ? 1 : STARTS))
      starts.push(await startOnce(checkout, issuer, requests.flat().slice(0, 1)));
    const gateway = await bench.keep(startGateway(checkout, issuer));
    const readIdle = async () => {
      await pause(options.isQuick ? 100 : SETTLE_MS);
      return (await gateway.memory()).now.toFixed(0);
    };
    const before = await readIdle();
    await runLoad(gateway.address, requests);
    rows.push([checkout.title, formatRange(rangeOf(starts), 0), before, await readIdle()]);
    await gateway.stop();
  }
  return [['', 'first list, ms after `npm start`', 'idle, MiB', 'a minute after 1,200 lists, MiB'], ...rows];
}

async function startOnce(
  { folder, databaseUrl }: Checkout,
  issuer: Issuer,
  requests: readonly LoadRequest[],
) {
  const started = performance.now();
  const environment = createSettings(databaseUrl, issuer);
  const server = await startServer({ args: ['start'], cwd: folder, environment, isLauncher: true });
  try {
    for (const request of requests) await send(server.address, request);
    return performance.now() - started;
  } finally {
    await server.stop();
  }
}
