import { readFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { runCommand } from '../src/commands/run-command.ts';
import { measureBacklog } from './backlog.ts';
import type { Bench } from './bench.ts';
import { checkEquality, measureWorkload, type Subject } from './comparison.ts';
import { type Checkout, createIssuer, startGateway, startPeer } from './gateway.ts';
import { measureLive } from './live.ts';
import { accepted, readOptions, USAGE } from './options.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { createRecords, signUsers } from './records.ts';
import { printEntry, recordResults, reportProgress } from './report.ts';
import { REPOSITORY, type Server } from './server.ts';
import { measureStartUp } from './start-up.ts';
import { type Workload, workloads } from './workloads.ts';

/*
 * Compares the gateway with peers that do the same work, and with another version of itself.
 *
 * - All servers run at once, and send batches of 1,200 requests in turn. A ratio is that of two batches of one round.
 * - The gateway runs as `npm start` in production: verified tokens, limits, log. The peers have the fastest settings of
 *   their documentation, and neither limits nor a log, except for the equipped one. Changes of `node:http` are the
 *   gateway's own statements.
 * - Replies and changes are compared before anything is measured.
 * - Compare ratios: the load generator and PostgreSQL share the machine with the servers.
 */

const peers: Readonly<Record<string, string>> = {
  mercurius: 'Fastify + mercurius (JIT) + pg',
  'mercurius-equipped': 'The same with limits, a log and metrics',
  apollo: 'Apollo Server + Express + pg',
  fastify: 'Fastify + pg, response schema',
  'node-http': 'node:http + pg, same statements',
};

const programs: Readonly<Record<string, [title: string, measure: (bench: Bench) => Promise<string[][]>]>> = {
  live: ['Live events', measureLive],
  backlog: ['A backlog of deliveries', measureBacklog],
  start: ['Start and memory', measureStartUp],
};

runCommand(USAGE, { options: accepted }, async ({ values }) => {
  const options = readOptions(values, [...Object.keys(workloads), ...Object.keys(programs)]);
  const started: Pick<Server, 'stop'>[] = [];
  const keep: Bench['keep'] = async (starting) => {
    const one = await starting;
    started.unshift(one);
    return one;
  };
  try {
    const postgres = await keep(startPostgres());
    const machine = describeMachine(postgres);
    reportProgress(`${machine}; load ${loadavg()[0]?.toFixed(1)}`);
    const issuer = await createIssuer();
    const checkouts = await createCheckouts(postgres, options.against);
    const users = await signUsers(issuer);
    const bench: Bench = { options, postgres, issuer, users, checkouts, keep };
    await measureAll(bench, machine);
    if (!options.isRecorded)
      reportProgress('\nNot recorded: `npm run bench -- --record` updates bench/results.json and documents.');
  } finally {
    for (const one of started) await one.stop();
  }
});

function describeMachine({ version }: Postgres): string {
  const processors = `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${processors}, Node.js ${process.version}, PostgreSQL ${version}`;
}

async function createCheckouts(postgres: Postgres, against: string | undefined): Promise<Checkout[]> {
  const create = async (title: string, name: string, folder: string) => {
    const databaseUrl = await postgres.createDatabase(name, folder);
    return { title, folder, databaseUrl };
  };
  const gateway = await create('gateway', 'bench', REPOSITORY);
  if (against === undefined) return [gateway];
  const { version } = JSON.parse(await readFile(join(against, 'package.json'), 'utf8'));
  return [gateway, await create(`gateway before, ${version}`, 'against', resolve(against))];
}

async function measureAll(bench: Bench, machine: string): Promise<void> {
  const { only, rounds, warmUp, isRecorded } = bench.options;
  const isChosen = ([name]: readonly [string, unknown]) => only.length === 0 || only.includes(name);
  const date = new Date().toISOString().slice(0, 10);
  const add = (name: string, title: string, method: string, table: string[][]) => {
    const entry = { title, date, machine, method, table };
    printEntry(entry);
    if (isRecorded) recordResults({ [name]: entry });
  };
  const chosen = Object.entries(workloads).filter(isChosen);
  const { gateway, against, ...others } = await startSubjects(bench, chosen);
  for (const [name, workload] of chosen) {
    const subjects = [gateway, ...workload.peers.map((peer) => others[peer])].flatMap(
      (subject) => subject ?? [],
    );
    await checkEquality(bench, workload, subjects);
    const table = await measureWorkload(bench, workload, against ? [...subjects, against] : subjects);
    add(name, workload.title, `${rounds} rounds after ${warmUp.toLocaleString('en')} requests`, table);
  }
  await Promise.all([gateway?.server.stop(), against?.server.stop()]);
  for (const [name, [title, measure]] of Object.entries(programs).filter(isChosen)) {
    reportProgress(`Measuring ${title}`);
    add(name, title, 'Medians, with their ranges', await measure(bench));
  }
}

/** Starts the gateways, creates their records, and starts the peers that the workloads need. */
async function startSubjects(
  { checkouts, issuer, users, keep }: Bench,
  chosen: readonly (readonly [string, Workload])[],
): Promise<Record<string, Subject>> {
  const subjects: Record<string, Subject> = {};
  for (const [index, checkout] of checkouts.entries()) {
    reportProgress(`Creating the records of the ${checkout.title}`);
    const server = await keep(startGateway(checkout, issuer));
    await createRecords(server.address, users);
    subjects[index === 0 ? 'gateway' : 'against'] = { title: checkout.title, server, gateway: server };
  }
  for (const [name, title] of Object.entries(peers)) {
    const { gateway } = subjects;
    if (!gateway || !chosen.some(([, workload]) => workload.peers.includes(name))) continue;
    const server = await keep(startPeer(name, checkouts[0]?.databaseUrl ?? '', issuer));
    subjects[name] = { title, server, gateway: gateway.server };
  }
  return subjects;
}
