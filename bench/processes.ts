import { type Bench, withServer } from './bench.ts';
import { type ComparisonResult, compareSamples } from './comparison.ts';
import { createGatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { reportProgress } from './output.ts';
import { runRounds } from './rounds.ts';
import { takeSample } from './sample.ts';
import type { ServerProcess } from './server-process.ts';
import { distribute } from './workload.ts';
import { requestInbox } from './workloads.ts';

/* Compares two gateways on one port with one gateway. The machine should have more than two cores. */

const CONNECTIONS = 32;

/** Compares two processes that share a port with a single process. Returns nothing if the second does not start. */
export async function measureProcesses(bench: Bench): Promise<ComparisonResult[]> {
  const settings = { ...createGatewaySettings(bench), REUSE_PORT: 'true' };
  return withServer(startGateway(settings), async (first) => {
    const sharing = { ...settings, PORT: new URL(first.address).port };
    const second = await startGateway(sharing).catch((error: unknown) => {
      reportProgress(`Two processes: skipped. ${String(error)}`);
    });
    if (second === undefined) return [];
    const pair = combine(first, second);
    return withServer(Promise.resolve(second), () =>
      withServer(startGateway(createGatewaySettings(bench)), (alone) => compare(bench, pair, alone)),
    );
  });
}

async function compare(bench: Bench, pair: ServerProcess, alone: ServerProcess): Promise<ComparisonResult[]> {
  const lanes = distribute(bench.callers.readers, CONNECTIONS, requestInbox());
  const createSubject = (title: string, server: ServerProcess) => ({
    title,
    run: () => takeSample(bench, server, lanes),
  });
  const comparison = {
    title: '20 notifications by GraphQL, by two gateways on one port',
    subjects: [createSubject('2 processes', pair), createSubject('1 process', alone)],
  };
  return compareSamples(await runRounds([comparison], bench.options));
}

/** Combines two servers on one port into one. */
function combine(one: ServerProcess, other: ServerProcess): ServerProcess {
  const sum = async (read: (server: ServerProcess) => Promise<number>) =>
    (await read(one)) + (await read(other));
  return {
    ...one,
    memory: () => sum((server) => server.memory()),
    peakMemory: () => sum((server) => server.peakMemory()),
    processorTime: () => sum((server) => server.processorTime()),
    truncateLog: async () => {
      await one.truncateLog();
      await other.truncateLog();
    },
    readErrors: async () => `${await one.readErrors()}\n${await other.readErrors()}`,
  };
}
