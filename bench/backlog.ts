import { createServer, type Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { listen } from '../src/server/listen.ts';
import { withServer } from './bench.ts';
import { createNotification } from './change-requests.ts';
import { createGatewaySettings } from './contenders.ts';
import { startGateway } from './gateway-process.ts';
import { createIssuer } from './issuer.ts';
import { readOptions } from './options.ts';
import { printLine, printTable, reportProgress } from './output.ts';
import { type Postgres, startPostgres, withClient } from './postgres.ts';
import type { BacklogRound, Cost } from './results.ts';
import { writeResults } from './results.ts';
import type { ServerProcess } from './server-process.ts';
import { median } from './statistics.ts';

/*
 * Measures a backlog of deliveries: the cost of publishing while the chat API is unavailable, without and with a
 * backlog, and how the gateway sends the backlog once the API is available again.
 */

const BACKLOG = 100_000;
const QUICK_BACKLOG = 10_000;
const USERS = 1000;
const PUBLICATIONS = 1000;
const CONNECTIONS = 16;
const POLL_MS = 100;

type ChatApi = { address: string; isUp: boolean; received: number; server: Server };

/** Starts a chat API that is unavailable until `isUp` is set. */
async function startChatApi(): Promise<ChatApi> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      if (!api.isUp) return void response.writeHead(503).end();
      api.received += 1;
      response.setHeader('Content-Type', 'application/json');
      response.end(`{"ok":true,"channel":"D1","ts":"1700000000.${api.received}"}`);
    });
  });
  const api: ChatApi = { address: '', isUp: false, received: 0, server };
  api.address = await listen(server, { host: '127.0.0.1', port: 0 });
  return api;
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), [], {
    usual: { rounds: 3, seconds: 0 },
    quick: { rounds: 1, seconds: 0 },
  });
  const size = options.isQuick ? QUICK_BACKLOG : BACKLOG;
  const issuer = await createIssuer();
  const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:notifications' });
  const postgres = await startPostgres();
  const api = await startChatApi();
  try {
    const databaseUrl = await postgres.createDatabase('bench', insertContacts);
    const settings = { CHAT_TOKEN: 'bench', CHAT_API_URL: api.address };
    const starting = startGateway({ ...createGatewaySettings({ databaseUrl, issuer }), ...settings });
    await withClient(databaseUrl, (client) =>
      withServer(starting, async (gateway) => {
        const bench: BacklogBench = { gateway, postgres, client, api, token };
        await publish(bench, 'warm-up');
        const rounds: BacklogRound[] = [];
        for (let round = 1; round <= options.rounds; round += 1) {
          reportProgress(`round ${round} of ${options.rounds}`);
          rounds.push(await measureRound(bench, size, round));
        }
        printRounds(rounds, size);
        printLine(`Written to ${await writeResults({ options, client }, { backlog: rounds })}`);
      }),
    );
  } finally {
    api.server.close();
    api.server.closeAllConnections();
    await postgres.stop();
  }
}

type BacklogBench = {
  gateway: ServerProcess;
  postgres: Postgres;
  client: pg.Client;
  api: ChatApi;
  token: string;
};

async function measureRound(bench: BacklogBench, size: number, round: number): Promise<BacklogRound> {
  const { client, api, gateway } = bench;
  api.isUp = false;
  await client.query('truncate delivery, notification');
  const publishing = await measure(bench, PUBLICATIONS, () => publish(bench, `${round}-without`));
  await insertBacklog(client, size);
  const publishingWithBacklog = await measure(bench, PUBLICATIONS, () => publish(bench, `${round}-with`));
  await gateway.resetPeakMemory();
  const total = size + 2 * PUBLICATIONS;
  api.received = 0;
  api.isUp = true;
  const started = performance.now();
  const sending = await measure(bench, total, async () => {
    while (api.received < total) await pause(POLL_MS);
  });
  const seconds = (performance.now() - started) / 1000;
  const memory = (await gateway.peakMemory()) / 1024;
  return { publishing, publishingWithBacklog, sending, sentPerSecond: total / seconds, memory };
}

async function measure(
  { gateway, postgres }: BacklogBench,
  operations: number,
  work: () => Promise<void>,
): Promise<Cost> {
  const before = [await gateway.processorTime(), await postgres.processorTime()] as const;
  await work();
  const micros = (now: number, then: number) => ((now - then) * 1000) / operations;
  return {
    gateway: micros(await gateway.processorTime(), before[0]),
    postgres: micros(await postgres.processorTime(), before[1]),
  };
}

const PUBLISH = `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }`;

/** Publishes notifications to users in turn, over several connections at once. */
async function publish({ gateway, token }: BacklogBench, name: string): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < PUBLICATIONS) {
      const index = next;
      next += 1;
      const input = createNotification(`user-${index % USERS}`, `${name}-${index}`);
      const response = await fetch(`${gateway.address}/graphql`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: PUBLISH, variables: { input } }),
      });
      const text = await response.text();
      if (text !== '{"data":{"publishNotification":{"created":true}}}') throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

async function insertContacts(client: pg.Client): Promise<void> {
  await client.query(
    `insert into contact (user_id, chat_member_id, created_at, updated_at)
     select 'user-' || n, 'U' || n, now(), now() from generate_series(0, $1::int - 1) n`,
    [USERS],
  );
}

/** Inserts due deliveries, and the notifications that they are about. */
async function insertBacklog(client: pg.Client, size: number): Promise<void> {
  await client.query(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload, occurred_at,
       created_at, updated_at, request_state)
     select 'user-' || n % $2::int, 'backlog-' || n, -n, 'plan_requested', 'active', 'backlog-' || n, 'web-shop',
       'A plan', '{"toolId":"t","input":{"summary":"In short","plan":"1. Do it"}}', now(), now(), now(), 'open'
     from generate_series(1, $1::int) n`,
    [size, USERS],
  );
  await client.query(
    `insert into delivery (user_id, notification_id, channel, target, provider, state, due_at, expires_at, created_at, updated_at)
     select user_id, id, 'chat', '', 'chat', 'pending', now(), now() + interval '24 h', created_at, now()
     from notification where id like 'backlog-%'`,
  );
}

function printRounds(rounds: readonly BacklogRound[], size: number): void {
  const at = (read: (round: BacklogRound) => number) => median(rounds.map(read)).toFixed(0);
  const cost = (name: string, read: (round: BacklogRound) => Cost) => [
    name,
    `${at((round) => read(round).gateway)} µs`,
    `${at((round) => read(round).postgres)} µs`,
  ];
  printTable([
    ['', 'gateway', 'PostgreSQL'],
    cost('publishing without a backlog', ({ publishing }) => publishing),
    cost(`publishing with a backlog of ${size}`, ({ publishingWithBacklog }) => publishingWithBacklog),
    cost('sending', ({ sending }) => sending),
  ]);
  printLine(
    `${at(({ sentPerSecond }) => sentPerSecond)} messages/s; peak memory ${at(({ memory }) => memory)} MiB`,
  );
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
