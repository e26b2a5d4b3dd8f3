import type pg from 'pg';
import { type Callers, collectors, readers, signCallers, writers } from './callers.ts';
import { standingsOf } from './comparison.ts';
import { type Contender, contenders, ENCRYPTION_KEY_ID, startContender } from './contenders.ts';
import { finishDataSet, insertCredentials, insertNotifications, insertWorkspaces } from './data-set.ts';
import { createIssuer } from './issuer.ts';
import { startLoad } from './load.ts';
import { readOptions } from './options.ts';
import { type Postgres, startPostgres, withClient } from './postgres.ts';
import { type Contest, playRounds } from './rounds.ts';
import { say } from './say.ts';
import type { ServerProcess } from './server-process.ts';
import { sayStandings } from './table.ts';
import { prepareContest, type ServerOf } from './throughput.ts';
import { waysOf, works } from './works.ts';

async function fill(client: pg.Client): Promise<void> {
  await insertNotifications(client, readers);
  await insertNotifications(client, writers, 'active');
  await insertWorkspaces(client, { ...readers, each: 100 });
  await insertWorkspaces(client, collectors);
  await insertCredentials(client, readers, ENCRYPTION_KEY_ID);
  await finishDataSet(client);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), Object.keys(works));
  const chosen = Object.entries(works).filter(
    ([name]) => options.only.length === 0 || options.only.includes(name),
  );
  const postgres = await startPostgres();
  const load = startLoad();
  const servers = new Map<Contender, ServerProcess>();
  try {
    const url = await postgres.createDatabase('bench', fill);
    const issuer = await createIssuer();
    const needed = new Set(chosen.flatMap(([, work]) => waysOf(work).map(({ name }) => name)));
    for (const name of contenders.filter((name) => needed.has(name))) {
      say(`Starting ${name}`);
      const nodeOptions =
        options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`];
      servers.set(name, await startContender(name, url, issuer, nodeOptions));
    }
    const serverOf: ServerOf = (name) => {
      const server = servers.get(name);
      if (server === undefined) throw new Error(`${name} was not started.`);
      return server;
    };
    await withClient(url, async (client) => {
      const callers = await signCallers(client, issuer);
      const arena = { load, client, callers, serverOf, seconds: options.seconds };
      const contests: Contest[] = [];
      for (const [, work] of chosen) contests.push(await prepareContest(work, arena));
      const played = await playRounds(contests, options.rounds, say);
      for (const one of played) sayStandings(one.contest.title, standingsOf(one));
    });
  } finally {
    for (const server of servers.values()) await server.stop();
    await load.stop();
    await postgres.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
