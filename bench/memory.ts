import { type Bench, during } from './bench.ts';
import { gatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { sampleOf } from './sample.ts';
import { tell } from './say.ts';
import { deal } from './work.ts';
import { askForWorkspaces } from './works.ts';

/** The most memory that the gateway held while so many callers waited for 10,000 workspaces each, in KiB. */
export type Crowding = { callers: number; before: number; peak: number };

/** As many as the pool has connections, and many more. */
const CALLERS = [10, 200] as const;
const CALLERS_WHEN_QUICK = [10, 50] as const;
/** Callers wait long for the pool here, which is no fault. */
const PATIENCE_MS = '600000';
/** The peak of the many may be this much of that of the few. */
export const CROWDING_TARGET = 1.5;

/**
 * Measures what waiting callers cost: it must be bounded by the pool's size, not by the callers. Few of them get as many
 * lists as many do, for V8 takes more room the more there is to do.
 */
export async function measureCrowding(bench: Bench): Promise<Crowding[]> {
  const crowds = bench.options.isQuick ? CALLERS_WHEN_QUICK : CALLERS;
  const lists = Math.max(...crowds);
  const results: Crowding[] = [];
  for (const callers of crowds) {
    tell(`Memory while ${callers} callers wait for ${lists} lists of 10,000 workspaces`);
    results.push(await measureOne(bench, callers, lists / callers));
  }
  return results;
}

async function measureOne(bench: Bench, callers: number, each: number): Promise<Crowding> {
  const settings = { ...gatewaySettings(bench), DATABASE_TIMEOUT_MS: PATIENCE_MS };
  return during(startGateway(settings), async (gateway) => {
    const { collectors } = bench.callers;
    // In turn: the gateway makes a user who asks for such a list again wait.
    const asking = Array.from({ length: callers * each }, (_, index) =>
      collectors.at(index % collectors.length),
    );
    const lanes = deal(
      asking.flatMap((collector) => collector ?? []),
      callers,
      askForWorkspaces,
    );
    // One caller first: code that is compiled and the heap of a single list are nobody's waiting.
    await sampleOf(bench, gateway, lanes.slice(0, 1), 'when all is asked');
    const before = await gateway.memory();
    await gateway.forgetPeakMemory();
    await sampleOf(bench, gateway, lanes, 'when all is asked');
    return { callers, before, peak: await gateway.peakMemory() };
  });
}
