import type { Bench } from './bench.ts';
import type { LoadRequest, LoadResult } from './load-process.ts';
import type { ServerProcess } from './server-process.ts';

/** One run: what the load saw, and processor time in microseconds a request. */
export type Sample = LoadResult & {
  /** The server's. */
  cpuMicros: number;
  /** That of all processes of PostgreSQL. */
  postgresMicros: number;
};

/**
 * Puts a server under load, for the time of a run or until everything was asked once.
 * @throws {Error} where a reply is no success, with what the server wrote
 */
export async function sampleOf(
  { load, postgres, options }: Pick<Bench, 'load' | 'postgres' | 'options'>,
  server: ServerProcess,
  lanes: readonly LoadRequest[][],
  ends: 'by time' | 'when all is asked' = 'by time',
): Promise<Sample> {
  await server.emptyLog();
  const timesOf = () => Promise.all([server.processorTime(), postgres.processorTime()]);
  const before = await timesOf();
  const seconds = ends === 'by time' ? options.seconds : 'once';
  const result = await load.run({ address: server.address, lanes, seconds }).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\nThe server's last words:\n${await server.complaints()}`);
  });
  const after = await timesOf();
  const micros = (which: 0 | 1) => ((after[which] - before[which]) * 1000) / result.replies;
  return { ...result, cpuMicros: micros(0), postgresMicros: micros(1) };
}
