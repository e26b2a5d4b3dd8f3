import { type Bench, withServer } from './bench.ts';
import { createGatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { reportProgress } from './output.ts';
import { takeSample } from './sample.ts';
import { distribute } from './workload.ts';
import { requestWorkspaces } from './workloads.ts';

/** Memory of the gateway in KiB while callers wait for 10,000 workspaces each: before, and at its peak. */
export type WaitingMemory = { callers: number; before: number; peak: number };

/** A few callers, and many. The gateway reads two lists at once, so most of them wait in both cases. */
const CALLER_COUNTS = [10, 200] as const;
const QUICK_CALLER_COUNTS = [10, 50] as const;
/** Long enough for all callers to wait for a connection. */
const DATABASE_TIMEOUT_MS = '600000';
/** The target for the peak with many callers divided by that with few. */
export const MAX_PEAK_RATIO = 1.5;

/**
 * Measures the memory of waiting callers, which must hardly grow with their number. All runs read the same number of
 * lists, because V8's heap grows with the amount of work.
 */
export async function measureWaitingMemory(bench: Bench): Promise<WaitingMemory[]> {
  const callerCounts = bench.options.isQuick ? QUICK_CALLER_COUNTS : CALLER_COUNTS;
  const lists = Math.max(...callerCounts);
  const results: WaitingMemory[] = [];
  for (const callers of callerCounts) {
    reportProgress(`Memory while ${callers} callers wait for ${lists} lists of 10,000 workspaces`);
    results.push(await measureOne(bench, callers, lists / callers));
  }
  return results;
}

async function measureOne(bench: Bench, callers: number, each: number): Promise<WaitingMemory> {
  const settings = { ...createGatewaySettings(bench), DATABASE_TIMEOUT_MS };
  return withServer(startGateway(settings), async (gateway) => {
    const { collectors } = bench.callers;
    // In turn, because the gateway makes a user wait after a long list.
    const waiting = Array.from({ length: callers * each }, (_, index) =>
      collectors.at(index % collectors.length),
    );
    const lanes = distribute(
      waiting.flatMap((collector) => collector ?? []),
      callers,
      requestWorkspaces,
    );
    // Warm up with one caller, so that the difference excludes compiled code and the heap of a single list.
    await takeSample(bench, gateway, lanes.slice(0, 1), 'once');
    const before = await gateway.memory();
    await gateway.resetPeakMemory();
    await takeSample(bench, gateway, lanes, 'once');
    return { callers, before, peak: await gateway.peakMemory() };
  });
}
