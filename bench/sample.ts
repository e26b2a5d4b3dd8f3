import type { Bench } from './bench.ts';
import type { LoadRequest, LoadResult } from './load-process.ts';
import type { ServerProcess } from './server-process.ts';

/** One run: what the load saw, and processor time of the server in microseconds a request. */
export type Sample = LoadResult & { cpuMicros: number };

/**
 * Puts a server under load, for the time of a run or until everything was asked once.
 * @throws {Error} where a reply is no success, with what the server wrote
 */
export async function sampleOf(
  { load, options }: Pick<Bench, 'load' | 'options'>,
  server: ServerProcess,
  lanes: readonly LoadRequest[][],
  ends: 'by time' | 'when all is asked' = 'by time',
): Promise<Sample> {
  await server.emptyLog();
  const before = await server.processorTime();
  const seconds = ends === 'by time' ? options.seconds : 'once';
  const result = await load.run({ address: server.address, lanes, seconds }).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\nThe server's last words:\n${await server.complaints()}`);
  });
  const used = (await server.processorTime()) - before;
  return { ...result, cpuMicros: (used * 1000) / result.replies };
}
