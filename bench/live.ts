import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bench, startTiming } from './bench.ts';
import { startGateway } from './gateway.ts';
import type { LoadRequest } from './load.ts';
import { createNotification, graphql, range } from './records.ts';
import { formatRange, rangeOf } from './report.ts';
import type { Server } from './server.ts';

/*
 * Live events: each of many users has a stream, while notifications are published to them at a fixed rate. A delay is from
 * sending the request to publish to reading the event.
 */

const FULL = { subscribers: 2000, perSecond: 200, seconds: 10, warmUpSeconds: 60, waitMs: 60_000 };
const QUICK = { subscribers: 50, perSecond: 20, seconds: 1, warmUpSeconds: 1, waitMs: 100 };
/** The time without any event after which the others are missing. On a slow machine, one event may take longer. */
const MAX_SILENCE_MS = 20_000;

/** The streams of one gateway. */
class Streams {
  /** When each notification was sent, by its ID, until its event arrives. */
  readonly #sentAt = new Map<string, number>();
  readonly #failures: string[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #replies: IncomingMessage[] = [];
  readonly #server: Server;
  #delays: number[] = [];
  #arrivedAt = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  #send({ path, body, ...options }: LoadRequest, agent: Agent | false): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#server.address}${path}`, { ...options, agent }, (reply) =>
        reply.statusCode === 200 ? resolve(reply) : reject(new Error(`Status ${reply.statusCode}`)),
      );
      sent.on('error', reject).end(body);
    });
  }

  /** Opens a stream. @throws {Error} if it is refused */
  async open(token: string): Promise<void> {
    const subscription = graphql(token, 'Live', {});
    subscription.headers.Accept = 'text/event-stream';
    const reply = await this.#send(subscription, false);
    let rest = '';
    // Does not parse events, which would take longer than creating them.
    reply.setEncoding('latin1').on('data', (text: string) => {
      const all = rest + text;
      rest = all.replaceAll(/"id":"(live-[^"]*)"/g, (_match, id) => this.#arrive(id)).slice(-100);
    });
    this.#replies.push(reply.on('error', (error) => this.#failures.push(`A stream ended: ${error}`)));
  }

  #arrive(id: string): '' {
    this.#arrivedAt = performance.now();
    this.#delays.push(this.#arrivedAt - (this.#sentAt.get(id) ?? Number.NaN));
    if (!this.#sentAt.delete(id)) this.#failures.push(`The event of ${id} arrived twice.`);
    return '';
  }

  /** Publishes at a rate to the users of the streams in turn, and returns the delays. @throws {Error} if one is lost */
  async publish(platform: string, perSecond: number, count: number, name: string): Promise<number[]> {
    this.#delays = [];
    const started = performance.now();
    for (const index of range(count)) {
      const early = started + (index * 1000) / perSecond - performance.now();
      if (early > 0) await pause(early);
      const id = `live-${name}-${index}`;
      const input = createNotification(`live-${index % this.#replies.length}`, id);
      this.#sentAt.set(id, performance.now());
      this.#send(graphql(platform, 'Publish', { input }), this.#agent).then(
        (reply) => reply.resume(),
        (error: unknown) => this.#failures.push(`Publishing failed: ${error}`),
      );
    }
    this.#arrivedAt = performance.now();
    while (this.#sentAt.size > 0 && performance.now() < this.#arrivedAt + MAX_SILENCE_MS) await pause(5);
    const [failure = this.#sentAt.size > 0 && `${this.#sentAt.size} events are missing.`] = this.#failures;
    if (failure) throw new Error(failure);
    return this.#delays.toSorted((left, right) => left - right);
  }

  close(): void {
    for (const reply of this.#replies) reply.destroy();
    this.#agent.destroy();
  }
}

type Round = { p50: number; p99: number; server: number; postgres: number };
type Subject = { title: string; gateway: Server; streams: Streams; before: number; waiting: number };

/** Measures the live events of each gateway, in turn. */
export async function measureLive(bench: Bench): Promise<string[][]> {
  const { users, issuer, options, checkouts, postgres } = bench;
  const { subscribers, perSecond, seconds, warmUpSeconds, waitMs } = options.isQuick ? QUICK : FULL;
  const tokens = await Promise.all(range(subscribers).map((index) => issuer.sign({ sub: `live-${index}` })));
  const open = async (gateway: Server, count: number) => {
    const streams = new Streams(gateway);
    for (const token of tokens.slice(0, count)) await streams.open(token);
    return streams;
  };
  const readMemory = async (gateway: Server) => {
    await pause(waitMs);
    // Garbage of the start and of earlier events would hide what streams keep. V8 returns pages a moment later.
    await gateway.collections('collect');
    await pause(waitMs / 30);
    return (await gateway.memory()).now;
  };
  const subjects: Subject[] = [];
  for (const checkout of checkouts) {
    const gateway = await bench.keep(startGateway(checkout, issuer));
    const early = await open(gateway, subscribers / 10);
    await early.publish(users.platform, perSecond, perSecond * warmUpSeconds, 'warm-up');
    early.close();
    const before = await readMemory(gateway);
    const streams = await open(gateway, subscribers);
    subjects.push({ title: checkout.title, gateway, streams, before, waiting: await readMemory(gateway) });
  }
  const rounds = subjects.map((): Round[] => []);
  for (const round of range(options.rounds)) {
    await postgres.vacuum();
    for (const [index, { gateway, streams }] of subjects.entries()) {
      const readTiming = await startTiming(bench, gateway);
      const count = perSecond * seconds;
      const delays = await streams.publish(users.platform, perSecond, count, `round-${round}`);
      const at = (share: number) => delays[Math.ceil(share * count) - 1] ?? Number.NaN;
      rounds[index]?.push({ p50: at(0.5), p99: at(0.99), ...(await readTiming(count)) });
    }
  }
  await pause(waitMs);
  const memory = ['KiB per stream, waiting', 'two minutes after events'];
  const head = ['p50, ms', 'p99, ms', 'CPU, µs', 'PostgreSQL, µs', ...memory, 'ratio of CPU'];
  const table = [[`${subscribers} streams, ${perSecond} events/s`, ...head]];
  for (const [index, { title, gateway, streams, before, waiting }] of subjects.entries()) {
    const own = rounds[index] ?? [];
    const of = (name: keyof Round) => formatRange(rangeOf(own.map((round) => round[name])), 0);
    const each = (mib: number) => (((mib - before) * 1024) / subscribers).toFixed(0);
    const memory = [each(waiting), each(await readMemory(gateway))];
    const ratios = own.map(({ server }, round) => (rounds[0]?.[round]?.server ?? Number.NaN) / server);
    const ratio = index > 0 ? formatRange(rangeOf(ratios)) : '';
    table.push([title, of('p50'), of('p99'), of('server'), of('postgres'), ...memory, ratio]);
    streams.close();
    await gateway.stop();
  }
  return table;
}
