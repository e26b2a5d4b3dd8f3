import type pg from 'pg';
import type { Callers } from './callers.ts';
import { type Contender, contenderTitles } from './contenders.ts';
import { checkEquality } from './equality.ts';
import type { Load } from './load.ts';
import type { LoadRequest } from './load-process.ts';
import type { Contest, Entrant, Sample } from './rounds.ts';
import { say } from './say.ts';
import type { ServerProcess } from './server-process.ts';
import { lanesOf, type Way, type Work, waysOf } from './works.ts';

/** The server of a contender that was started. */
export type ServerOf = (name: Contender) => ServerProcess;

/** What contests are played with. */
export type Arena = { load: Load; client: pg.Client; callers: Callers; serverOf: ServerOf; seconds: number };

/** A run on a server, its processor time included. */
export async function sampleOf(
  { load, seconds }: Pick<Arena, 'load' | 'seconds'>,
  server: ServerProcess,
  lanes: readonly LoadRequest[][],
  ends: Work['ends'] = 'by time',
): Promise<Sample> {
  await server.emptyLog();
  const before = await server.processorTime();
  const order = { address: server.address, lanes, seconds: ends === 'by time' ? seconds : ('once' as const) };
  const result = await load.run(order).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\nThe server's last words:\n${await server.complaints()}`);
  });
  const used = (await server.processorTime()) - before;
  return { ...result, cpuMicros: (used * 1000) / result.replies };
}

/** Checks that the contenders of a work do the same, warms them up and answers the contest. */
export async function prepareContest(work: Work, arena: Arena): Promise<Contest> {
  say(`${work.title}: comparing replies, warming up`);
  await checkEquality(work, arena.serverOf, arena.callers, arena.client);
  const entrants = waysOf(work).map(({ name, way }) => entrantOf(work, name, way, arena));
  for (const entrant of entrants) await entrant.run();
  return { title: work.title, entrants };
}

function entrantOf(work: Work, name: Contender, way: Way, arena: Arena): Entrant {
  const { client, callers, serverOf } = arena;
  const lanes = lanesOf(work, way, callers);
  return {
    title: contenderTitles[name],
    ...(way.target !== undefined && { target: way.target }),
    async run() {
      await work.prepare?.(client);
      const sample = await sampleOf(arena, serverOf(name), lanes, work.ends);
      await work.verify?.(client, work.callers(callers));
      return sample;
    },
  };
}
