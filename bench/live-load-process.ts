import { setTimeout as pause } from 'node:timers/promises';
import { createPublisher } from './live-publisher.ts';
import { openStreams } from './live-streams.ts';
import { quantile } from './statistics.ts';

/** What the process is told. */
export type LiveOrder =
  | { kind: 'subscribe'; address: string; users: readonly { userId: string; token: string }[] }
  | { kind: 'publish'; token: string; perSecond: number; seconds: number };

/** Milliseconds from sending a request to publish until its event was read. */
export type Delays = { p50: number; p99: number; max: number };

/** What came of publishing at a rate. */
export type LiveRun = {
  published: number;
  missing: number;
  twice: number;
  /** Replies that were no success, and connections that were closed; the first of them in words. */
  failures: number;
  failure?: string;
  delays: Delays;
  /** Share of one core that this process used meanwhile: near 1, it is the load that is slow. */
  loadCpu: number;
};

/** What the process tells. */
export type LiveLoadReport =
  | { kind: 'subscribed' }
  | { kind: 'published'; run: LiveRun }
  | { kind: 'failed'; message: string };

/** The longest that an event may take to arrive after the last was published. */
const PATIENCE_MS = 10_000;
const POLL_MS = 20;

const report = (message: LiveLoadReport): void => {
  process.send?.(message);
};

/** By the number of a notification: when its request was sent, and when its event was read. */
const sentAt: number[] = [];
const arrivedAt: number[] = [];
let arrived = 0;
let twice = 0;
const failures: string[] = [];
const fail = (reason: string): void => void failures.push(reason);
let address = '';
let userIds: readonly string[] = [];

async function subscribe(order: Extract<LiveOrder, { kind: 'subscribe' }>): Promise<void> {
  address = order.address;
  userIds = order.users.map(({ userId }) => userId);
  const tokens = order.users.map(({ token }) => token);
  await openStreams({ address, tokens }, arrive, fail);
  report({ kind: 'subscribed' });
}

function arrive(number: number): void {
  if (arrivedAt[number] === undefined) arrived += 1;
  else twice += 1;
  arrivedAt[number] = performance.now();
}

async function publish({
  token,
  perSecond,
  seconds,
}: Extract<LiveOrder, { kind: 'publish' }>): Promise<void> {
  const first = sentAt.length;
  const count = Math.round(perSecond * seconds);
  const before = { arrived, twice, failures: failures.length };
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const publisher = createPublisher({ address, token, userIds }, fail);
  for (let index = 0; index < count; index += 1) {
    const early = started + (index * 1000) / perSecond - performance.now();
    if (early > 0) await pause(early);
    sentAt[first + index] = performance.now();
    publisher.send(first + index);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const took = performance.now() - started;
  const deadline = pause(PATIENCE_MS);
  await Promise.race([publisher.finish(), deadline]);
  let isLate = false;
  void deadline.then(() => {
    isLate = true;
  });
  while (arrived - before.arrived < count && !isLate) await pause(POLL_MS);
  const failure = failures[before.failures];
  const run = {
    published: count,
    missing: count - (arrived - before.arrived),
    twice: twice - before.twice,
    failures: failures.length - before.failures,
    ...(failure !== undefined && { failure }),
    delays: delaysSince(first),
    loadCpu: (user + system) / 1000 / took,
  };
  report({ kind: 'published', run });
}

function delaysSince(first: number): Delays {
  const delays = arrivedAt.slice(first).flatMap((at, index) => at - (sentAt[first + index] ?? Number.NaN));
  return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), max: quantile(delays, 1) };
}

process.on('message', (order: LiveOrder) => {
  (order.kind === 'subscribe' ? subscribe(order) : publish(order)).catch((error: unknown) => {
    report({ kind: 'failed', message: String(error) });
  });
});
