import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import type { ComparisonResult } from './comparison.ts';
import type { LiveResults } from './live-rates.ts';
import type { Options } from './options.ts';
import type { IdleMemory, StartUp } from './start-up.ts';
import type { WaitingMemory } from './waiting-memory.ts';

/** All results. Measurements that did not run are omitted. */
export type Results = {
  workloads?: ComparisonResult[];
  growth?: ComparisonResult[];
  processes?: ComparisonResult[];
  waitingMemory?: WaitingMemory[];
  idleMemory?: IdleMemory;
  startUp?: StartUp[];
  live?: LiveResults;
  backlog?: BacklogRound[];
};

const FOLDER = fileURLToPath(new URL('results', import.meta.url));

/** Writes the results and a description of the machine, and returns the path of the file. */
export async function writeResults(
  { options, client }: { options: Options; client: pg.Client },
  results: Results,
): Promise<string> {
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  const date = new Date().toISOString();
  const machine = {
    processors: cpus().map(({ model }) => model),
    memoryMib: Math.round(totalmem() / 2 ** 20),
    node: process.version,
    postgres: rows[0]?.server_version,
  };
  await mkdir(FOLDER, { recursive: true });
  const file = join(FOLDER, `${date.replaceAll(':', '-')}.json`);
  await writeFile(file, `${JSON.stringify({ date, machine, options, ...results }, null, 2)}\n`);
  return file;
}

/** Processor time per operation in microseconds. */
export type Cost = { gateway: number; postgres: number };

/** The results of a round. Memory is the peak in MiB. */
export type BacklogRound = {
  publishing: Cost;
  publishingWithBacklog: Cost;
  sending: Cost;
  sentPerSecond: number;
  memory: number;
};
