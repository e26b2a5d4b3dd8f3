import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from '../src/server/listen.ts';
import { type Bench, startTiming } from './bench.ts';
import { type Checkout, startGateway } from './gateway.ts';
import { runLoad } from './load.ts';
import { CONNECTIONS, createNotification, graphql, publishMany, range, send } from './records.ts';
import { formatNumber, formatRange, rangeOf } from './report.ts';
import type { Server } from './server.ts';
import { workloads } from './workloads.ts';

/*
 * A backlog of deliveries: what publishing costs without and with it, while nothing is sent, and how fast a gateway that
 * is started then sends it.
 */

const BACKLOG = 100_000;
const QUICK_BACKLOG = 3000;
const MAX_ROUNDS = 6;
const EACH = 40;
const USERS = CONNECTIONS * EACH;

/** Starts a chat API, which counts messages. */
async function startChatApi() {
  const api = { address: '', received: 0, stop: async () => server.closeAllConnections() };
  const server = createServer((incoming, response) => {
    incoming.resume().once('end', () => {
      api.received += 1;
      response.setHeader('Content-Type', 'application/json');
      response.end(`{"ok":true,"channel":"D1","ts":"1700000000.${api.received}"}`);
    });
  });
  server.unref();
  api.address = await listen(server, { host: '127.0.0.1', port: 0 });
  return api;
}

type Round = { without: number; pending: number; sending: number; perSecond: number; peak: number };

/** Measures the backlog of each gateway. Processor times are those of the gateway and PostgreSQL. */
export async function measureBacklog(bench: Bench): Promise<string[][]> {
  const size = bench.options.isQuick ? QUICK_BACKLOG : BACKLOG;
  const head = ['µs per publication', `with ${formatNumber(size)} pending`, 'µs per message sent'];
  const table = [['', ...head, 'messages/s', 'peak memory, MiB']];
  for (const checkout of bench.checkouts) {
    const rounds = await measureGateway(bench, checkout, size);
    const of = (name: keyof Round) => formatRange(rangeOf(rounds.map((round) => round[name])), 0);
    table.push([checkout.title, of('without'), of('pending'), of('sending'), of('perSecond'), of('peak')]);
  }
  return table;
}

async function measureGateway(bench: Bench, checkout: Checkout, size: number): Promise<Round[]> {
  const { issuer, users, options } = bench;
  const { platform } = users;
  const api = await bench.keep(startChatApi());
  const settings = { CHAT_TOKEN: 'bench', CHAT_API_URL: api.address };
  const gateway = await bench.keep(startGateway(checkout, issuer, { ...settings, DELIVERY: 'false' }));
  const measure = async (server: Server, operations: number, work: () => Promise<unknown>) => {
    const readTiming = await startTiming(bench, server);
    await work();
    const timing = await readTiming(operations);
    return timing.server + timing.postgres;
  };
  const publish = (name: string) => {
    const lanes = range(CONNECTIONS).map((lane) => workloads.publish?.requests(users, lane, name) ?? []);
    return runLoad(gateway.address, lanes);
  };
  const putContact = (number: number) => {
    const input = { userId: `recipient-${number}`, chatMemberId: `U${number}` };
    return graphql(platform, 'PutContact', { input });
  };
  const lanes = range(CONNECTIONS).map((lane) => range(EACH).map((index) => putContact(lane * EACH + index)));
  await runLoad(gateway.address, lanes);
  await publish('warm-up');
  const rounds: Round[] = [];
  for (const round of range(Math.min(options.rounds, MAX_ROUNDS))) {
    const without = await measure(gateway, USERS, () => publish(`${round}-without`));
    for (const batch of range(size / 100)) {
      const users = range(100).map((index) => `recipient-${(batch * 100 + index) % USERS}`);
      const inputs = users.map((userId) => createNotification(userId, `${round}-${batch}-${userId}`));
      await send(gateway.address, publishMany(platform, inputs));
    }
    const pending = await measure(gateway, USERS, () => publish(`${round}-with`));
    api.received = 0;
    const total = size + (round === 0 ? 3 : 2) * USERS;
    const started = performance.now();
    const sender = await bench.keep(startGateway(checkout, issuer, settings));
    const sending = await measure(sender, total, async () => {
      while (api.received < total) await pause(50);
    });
    const perSecond = (total * 1000) / (performance.now() - started);
    rounds.push({ without, pending, sending, perSecond, peak: (await sender.memory()).peak });
    await sender.stop();
  }
  await gateway.stop();
  return rounds;
}
