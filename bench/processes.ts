import { type Bench, during } from './bench.ts';
import { type Standing, standingsOf } from './comparison.ts';
import { gatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { playRounds } from './rounds.ts';
import { sampleOf } from './sample.ts';
import { tell } from './say.ts';
import type { ServerProcess } from './server-process.ts';
import { deal } from './work.ts';
import { askForInbox } from './works.ts';

/*
 * Two gateways that share a port, beside one. Where the load and PostgreSQL run on the same two cores it tells little:
 * there is no third core for the second gateway to gain.
 */

const CONNECTIONS = 32;

/** Measures two processes on one port against one; of a gateway that cannot share its port nothing. */
export async function measureProcesses(bench: Bench): Promise<Standing[]> {
  const settings = { ...gatewaySettings(bench), REUSE_PORT: 'true' };
  return during(startGateway(settings), async (first) => {
    const sharing = { ...settings, PORT: new URL(first.address).port };
    const second = await startGateway(sharing).catch(() => undefined);
    if (second === undefined) {
      tell('Two processes: skipped, this gateway does not share its port (REUSE_PORT=true)');
      return [];
    }
    const pair = together(first, second);
    return during(Promise.resolve(second), () =>
      during(startGateway(gatewaySettings(bench)), (alone) => compare(bench, pair, alone)),
    );
  });
}

async function compare(bench: Bench, pair: ServerProcess, alone: ServerProcess): Promise<Standing[]> {
  const lanes = deal(bench.callers.readers, CONNECTIONS, askForInbox());
  const entrant = (title: string, server: ServerProcess) => ({
    title,
    run: () => sampleOf(bench, server, lanes),
  });
  const contest = {
    title: '20 notifications by GraphQL, by two gateways on one port',
    entrants: [entrant('2 processes', pair), entrant('1 process', alone)],
  };
  return standingsOf(await playRounds([contest], bench.options));
}

/** Two servers of one address as one. */
function together(one: ServerProcess, other: ServerProcess): ServerProcess {
  const sum = async (of: (server: ServerProcess) => Promise<number>) => (await of(one)) + (await of(other));
  return {
    ...one,
    memory: () => sum((server) => server.memory()),
    peakMemory: () => sum((server) => server.peakMemory()),
    processorTime: () => sum((server) => server.processorTime()),
    emptyLog: async () => {
      await one.emptyLog();
      await other.emptyLog();
    },
    complaints: async () => `${await one.complaints()}\n${await other.complaints()}`,
  };
}
