import type { Bench } from './bench.ts';
import { type Standing, standingsOf } from './comparison.ts';
import { type Contender, contenders, contenderTitles, startContender } from './contenders.ts';
import { checkEquality, type Doer } from './equality.ts';
import { type Contest, type Entrant, playRounds } from './rounds.ts';
import { sampleOf } from './sample.ts';
import { tell } from './say.ts';
import type { ServerProcess } from './server-process.ts';
import { deal, type Work, waysOf } from './work.ts';

/** The contenders' servers. */
type Servers = ReadonlyMap<Contender, ServerProcess>;

/** Starts the contenders, checks that they do the same, and has them do it round by round. */
export async function measureWorks(bench: Bench, chosen: readonly Work[]): Promise<Standing[]> {
  const needed = new Set(chosen.flatMap((work) => waysOf(work).map(({ name }) => name)));
  const servers = new Map<Contender, ServerProcess>();
  try {
    for (const name of contenders.filter((name) => needed.has(name))) {
      tell(`Starting ${contenderTitles[name]}`);
      servers.set(name, await startContender(name, bench, profiling(name, bench)));
    }
    const contests: Contest[] = [];
    for (const work of chosen) contests.push(await prepareContest(bench, work, servers));
    return standingsOf(await playRounds(contests, bench.options));
  } finally {
    for (const server of servers.values()) await server.stop();
  }
}

function profiling(name: Contender, { options: { profile } }: Bench): string[] {
  return name === 'gateway' && profile !== undefined ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
}

async function prepareContest(bench: Bench, work: Work, servers: Servers): Promise<Contest> {
  tell(`${work.title}: comparing replies, warming up`);
  const doers = waysOf(work).flatMap(({ name, way }) => {
    const server = servers.get(name);
    return server === undefined ? [] : [{ title: contenderTitles[name], way, server }];
  });
  await checkEquality(bench, work, doers);
  return { title: work.title, entrants: doers.map((doer) => entrantOf(bench, work, doer)) };
}

function entrantOf(bench: Bench, work: Work, { title, way, server }: Doer): Entrant {
  const { client, callers } = bench;
  const lanes = deal(work.callers(callers), work.connections, way.requests);
  return {
    title,
    ...(way.targets !== undefined && { targets: way.targets }),
    async run() {
      await work.prepare?.(client);
      const sample = await sampleOf(bench, server, lanes, work.ends);
      await work.verify?.(client, work.callers(callers));
      return sample;
    },
  };
}
