import { deepStrictEqual } from 'node:assert/strict';
import { type Bench, startTiming } from './bench.ts';
import { type LoadRequest, runLoad } from './load.ts';
import { CONNECTIONS, range, send } from './records.ts';
import { formatNumber, formatRange, rangeOf, reportProgress } from './report.ts';
import type { Server } from './server.ts';
import type { Workload } from './workloads.ts';

/** A server to be measured. A peer shares the database of its gateway, which prepares the batches of both. */
export type Subject = { title: string; server: Server; gateway: Server };

type Subjects = readonly Subject[];

/** The figures of a batch, by the names of their columns; those in µs and KiB are per request. */
type Sample = Awaited<ReturnType<typeof runBatch>>;

const PROMOTED = 'promoted, KiB';
/** More is a leak of each request into the old space, and fails the bench. */
const MAX_PROMOTED_KIB = 3;

const lanesOf = (create: (lane: number) => LoadRequest[]) => range(CONNECTIONS).map(create);

let batches = 0;
function nameBatch(): string {
  batches += 1;
  return `batch${batches}`;
}

async function runBatch(bench: Bench, workload: Workload, { server, gateway }: Subject) {
  const { users, options } = bench;
  const batch = nameBatch();
  const preparing = lanesOf((lane) => workload.prepare?.(users, lane, batch) ?? []);
  if (workload.prepare) await runLoad(gateway.address, preparing);
  const each = options.isQuick ? 2 : undefined;
  const lanes = lanesOf((lane) => workload.requests(users, lane, batch).slice(0, each));
  const count = lanes.flat().length;
  await server.collections();
  const readTiming = await startTiming(bench, server);
  const rates = await runLoad(server.address, lanes).catch(async (error: unknown) => {
    throw new Error(`${workload.title}: ${String(error)}\n${await server.readErrors()}`);
  });
  const timing = await readTiming(count);
  const { pauseMs, promotedKib } = await server.collections();
  return {
    ...rates,
    'CPU, µs': timing.server,
    'PostgreSQL, µs': timing.postgres,
    [PROMOTED]: promotedKib / count,
    'scavenges, µs': (pauseMs * 1000) / count,
  };
}

/**
 * Measures a workload: warms all subjects up, then runs a batch of each in turn, in another order each round. The ratios
 * are those of the first subject to each other one in the same round: a machine is not equally fast from one second to
 * the next. Returns a table of medians.
 */
export async function measureWorkload(bench: Bench, workload: Workload, subjects: Subjects) {
  const { rounds, warmUp } = bench.options;
  const perBatch = lanesOf((lane) => workload.requests(bench.users, lane, '')).flat().length;
  for (const subject of subjects)
    for (let sent = 0; sent < Math.min(warmUp, perBatch * 25); sent += perBatch)
      await runBatch(bench, workload, subject);
  const samples = subjects.map((): Sample[] => []);
  for (const round of range(rounds)) {
    await bench.postgres.vacuum();
    for (const offset of subjects.keys()) {
      const index = (round + offset) % subjects.length;
      const subject = subjects[index];
      if (subject) samples[index]?.push(await runBatch(bench, workload, subject));
    }
  }
  const [first = []] = samples;
  const compare = (own: readonly Sample[], read: (sample: Sample) => number) => {
    const ratios = own.map((sample, round) =>
      first[round] ? read(first[round]) / read(sample) : Number.NaN,
    );
    return formatRange(rangeOf(ratios));
  };
  const rows = samples.map((own, index) => {
    const medianOf = (name: keyof Sample) => formatNumber(rangeOf(own.map((sample) => sample[name])).median);
    const rate = compare(own, (sample) => sample['requests/s']);
    const cost = compare(own, (sample) => sample['CPU, µs'] + sample['PostgreSQL, µs']);
    const rates = formatRange(rangeOf(own.map((sample) => sample['requests/s'])), 0);
    const figures = [
      medianOf('p99, ms'),
      medianOf('CPU, µs'),
      medianOf('PostgreSQL, µs'),
      medianOf(PROMOTED),
    ];
    const ratios = index > 0 ? [rate, cost] : ['', ''];
    return [subjects[index]?.title ?? '', rates, ...figures, medianOf('scavenges, µs'), ...ratios];
  });
  const promoted = rangeOf(first.map((sample) => sample[PROMOTED])).median;
  if (promoted > MAX_PROMOTED_KIB && !bench.options.isQuick) {
    reportProgress(
      `Failed: more than ${MAX_PROMOTED_KIB} KiB of a request moved to the old space; find what outlives it`,
    );
    process.exitCode = 1;
  }
  return [['', ...Object.keys(first[0] ?? {}), 'ratio of requests/s', 'ratio of CPU'], ...rows];
}

/**
 * Checks that peers return and change the same as their gateway, and reject a token with an invalid signature.
 * @throws {Error} with the difference
 */
export async function checkEquality({ users }: Bench, workload: Workload, subjects: Subjects) {
  const since = new Date().toISOString();
  let expected: unknown;
  for (const { title, server, gateway } of subjects) {
    reportProgress(`Comparing replies: ${workload.title}, ${title}`);
    const batch = nameBatch();
    for (const request of workload.prepare?.(users, 0, batch) ?? []) await send(gateway.address, request);
    const [request] = workload.requests(users, 0, batch);
    if (request === undefined) throw new Error(`${workload.title} has no request.`);
    const wrong = request.headers.Authorization?.replace(/.{8}$/, 'AAAAAAAA') ?? '';
    const forged = { ...request, headers: { ...request.headers, Authorization: wrong } };
    const refusal = await send(server.address, forged).catch(String);
    if (!refusal.includes(' 401')) throw new Error(`A token with an invalid signature: ${refusal}`);
    const texts = [await send(server.address, request)];
    const effect = workload.effect?.(users, 0);
    if (effect) texts.push(await send(gateway.address, effect));
    const result = texts.map((text) => JSON.parse(normalize(text, since)));
    expected ??= result;
    deepStrictEqual(result, expected);
  }
}

/** Replaces the numbers of batches, current times and the values of cursors. */
const normalize = (text: string, since: string) =>
  text
    .replaceAll(/batch\d+/g, 'batch')
    .replaceAll(/"endCursor":"[^"]+"/g, '"endCursor":""')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => (time >= since ? 'now' : time));
