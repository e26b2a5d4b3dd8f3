import type { Bench } from './bench.ts';
import type { LoadRequest, LoadResult } from './load-process.ts';
import type { ServerProcess } from './server-process.ts';

/** The result of one run. Processor times are microseconds per request. */
export type Sample = LoadResult & {
  /** Of the server. */
  cpuMicros: number;
  /** Of all processes of PostgreSQL. */
  postgresMicros: number;
};

/**
 * Runs the load on a server, for a time or until every request was sent once.
 * @throws {Error} with the server's last errors if a request fails
 */
export async function takeSample(
  { load, postgres, options }: Pick<Bench, 'load' | 'postgres' | 'options'>,
  server: ServerProcess,
  lanes: readonly LoadRequest[][],
  mode: 'timed' | 'once' = 'timed',
): Promise<Sample> {
  await server.truncateLog();
  const readTimes = () => Promise.all([server.processorTime(), postgres.processorTime()]);
  const before = await readTimes();
  const seconds = mode === 'timed' ? options.seconds : 'once';
  const result = await load.run({ address: server.address, lanes, seconds }).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\nThe server's last errors:\n${await server.readErrors()}`);
  });
  const after = await readTimes();
  const micros = (which: 0 | 1) => ((after[which] - before[which]) * 1000) / result.replies;
  return { ...result, cpuMicros: micros(0), postgresMicros: micros(1) };
}
