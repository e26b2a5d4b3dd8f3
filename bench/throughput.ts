import type { Bench } from './bench.ts';
import { type ComparisonResult, compareSamples } from './comparison.ts';
import {
  type Contender,
  contenders,
  contenderTitles,
  startContender,
  startGatewayWithout,
} from './contenders.ts';
import { checkEquality, type RunningContender } from './equality.ts';
import { reportProgress } from './output.ts';
import { type Comparison, runRounds, type Subject } from './rounds.ts';
import { takeSample } from './sample.ts';
import type { ServerProcess } from './server-process.ts';
import type { Piece } from './without/pieces.ts';
import { distribute, listImplementations, type Workload } from './workload.ts';

/** The servers of the contenders. */
type Servers = ReadonlyMap<Contender, ServerProcess>;

/** Starts the contenders, checks that they do the same, and measures them in rounds. */
export async function measureWorkloads(
  bench: Bench,
  chosen: readonly Workload[],
): Promise<ComparisonResult[]> {
  const needed = new Set(chosen.flatMap((workload) => listImplementations(workload).map(({ name }) => name)));
  const servers = new Map<Contender, ServerProcess>();
  const reduced = new Map<Piece, ServerProcess>();
  try {
    for (const name of contenders.filter((name) => needed.has(name))) {
      reportProgress(`Starting ${contenderTitles[name]}`);
      servers.set(name, await startContender(name, bench, listNodeOptions(name, bench)));
    }
    for (const piece of bench.options.without) {
      reportProgress(`Starting the gateway without ${piece}`);
      reduced.set(piece, await startGatewayWithout(piece, bench));
    }
    const comparisons: Comparison[] = [];
    for (const workload of chosen) {
      comparisons.push(await prepareComparison(bench, workload, servers, reduced));
    }
    return compareSamples(await runRounds(comparisons, bench.options));
  } finally {
    for (const server of [...servers.values(), ...reduced.values()]) await server.stop();
  }
}

function listNodeOptions(name: Contender, { options: { profile } }: Bench): string[] {
  return name === 'gateway' && profile !== undefined ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
}

async function prepareComparison(
  bench: Bench,
  workload: Workload,
  servers: Servers,
  reduced: ReadonlyMap<Piece, ServerProcess>,
): Promise<Comparison> {
  reportProgress(`${workload.title}: comparing replies`);
  const running = listImplementations(workload).flatMap(({ name, implementation }) => {
    const server = servers.get(name);
    return server === undefined ? [] : [{ title: contenderTitles[name], implementation, server }];
  });
  const { gateway } = workload.implementations;
  if (gateway !== undefined) {
    for (const [piece, server] of reduced) {
      running.push({ title: `gateway without ${piece}`, implementation: gateway, server });
    }
  }
  await checkEquality(bench, workload, running);
  return {
    title: workload.title,
    subjects: running.map((contender) => createSubject(bench, workload, contender)),
  };
}

function createSubject(
  bench: Bench,
  workload: Workload,
  { title, implementation, server }: RunningContender,
): Subject {
  const { client, callers } = bench;
  const lanes = distribute(workload.callers(callers), workload.connections, implementation.requests);
  return {
    title,
    ...(implementation.targets !== undefined && { targets: implementation.targets }),
    async run() {
      await workload.prepare?.(client);
      const sample = await takeSample(bench, server, lanes, workload.mode);
      await workload.verify?.(client, workload.callers(callers));
      return sample;
    },
  };
}
