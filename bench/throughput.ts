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
import { distribute, listImplementations, type Workload } from './workload.ts';

/** A started contender, or a gateway without a piece. */
type Started = { contender: Contender; title: string; server: ServerProcess };

/** Starts the contenders, checks that they do the same, and measures them in rounds. */
export async function measureWorkloads(
  bench: Bench,
  chosen: readonly Workload[],
): Promise<ComparisonResult[]> {
  const needed = new Set(chosen.flatMap((workload) => listImplementations(workload).map(({ name }) => name)));
  const started: Started[] = [];
  const start = async (contender: Contender, title: string, starting: () => Promise<ServerProcess>) => {
    reportProgress(`Starting ${title}`);
    started.push({ contender, title, server: await starting() });
  };
  try {
    for (const name of contenders.filter((name) => needed.has(name))) {
      await start(name, contenderTitles[name], () =>
        startContender(name, bench, listNodeOptions(name, bench)),
      );
    }
    for (const piece of bench.options.without) {
      await start('gateway', `gateway without ${piece}`, () => startGatewayWithout(piece, bench));
    }
    const comparisons: Comparison[] = [];
    for (const workload of chosen) comparisons.push(await prepareComparison(bench, workload, started));
    return compareSamples(await runRounds(comparisons, bench.options));
  } finally {
    for (const { server } of started) await server.stop();
  }
}

function listNodeOptions(name: Contender, { options: { profile } }: Bench): string[] {
  return name === 'gateway' && profile !== undefined ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
}

async function prepareComparison(
  bench: Bench,
  workload: Workload,
  started: readonly Started[],
): Promise<Comparison> {
  reportProgress(`${workload.title}: comparing replies`);
  const running = started.flatMap(({ contender, title, server }) => {
    const implementation = workload.implementations[contender];
    return implementation === undefined ? [] : [{ title, implementation, server }];
  });
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
