import { setTimeout as pause } from 'node:timers/promises';
import { createPublisher } from './live-publisher.ts';
import { openStreams } from './live-streams.ts';
import { quantile } from './statistics.ts';

/** A command to this process. */
export type LiveCommand =
  | { kind: 'subscribe'; address: string; users: readonly { userId: string; token: string }[] }
  | { kind: 'publish'; token: string; perSecond: number; seconds: number };

/** Milliseconds from sending the request to publish until reading the event. */
export type Delays = { p50: number; p99: number; max: number };

/** The result of publishing at a rate. */
export type LiveRun = {
  published: number;
  missing: number;
  duplicates: number;
  /** Unsuccessful replies and closed connections. */
  failures: number;
  /** The first failure. */
  failure?: string;
  delays: Delays;
  /** The share of one core that this process used. Near 1, the load generator is the bottleneck. */
  loadCpu: number;
};

/** A report of this process. */
export type LiveLoadReport =
  | { kind: 'subscribed' }
  | { kind: 'published'; run: LiveRun }
  | { kind: 'failed'; message: string };

/** Maximum time to wait for events after the last notification was published. */
const MAX_WAIT_MS = 10_000;
const POLL_MS = 20;

const report = (message: LiveLoadReport): void => {
  process.send?.(message);
};

/** When the request was sent and the event was read, by the number of the notification. */
const sentAt: number[] = [];
const arrivedAt: number[] = [];
let arrived = 0;
let duplicates = 0;
const failures: string[] = [];
const fail = (reason: string): void => void failures.push(reason);
let address = '';
let userIds: readonly string[] = [];

async function subscribe(command: Extract<LiveCommand, { kind: 'subscribe' }>): Promise<void> {
  address = command.address;
  userIds = command.users.map(({ userId }) => userId);
  const tokens = command.users.map(({ token }) => token);
  await openStreams({ address, tokens }, arrive, fail);
  report({ kind: 'subscribed' });
}

function arrive(number: number): void {
  if (arrivedAt[number] === undefined) arrived += 1;
  else duplicates += 1;
  arrivedAt[number] = performance.now();
}

async function publish({
  token,
  perSecond,
  seconds,
}: Extract<LiveCommand, { kind: 'publish' }>): Promise<void> {
  const first = sentAt.length;
  const count = Math.round(perSecond * seconds);
  const before = { arrived, duplicates, failures: failures.length };
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
  const deadline = pause(MAX_WAIT_MS);
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
    duplicates: duplicates - before.duplicates,
    failures: failures.length - before.failures,
    ...(failure !== undefined && { failure }),
    delays: measureDelays(first),
    loadCpu: (user + system) / 1000 / took,
  };
  report({ kind: 'published', run });
}

function measureDelays(first: number): Delays {
  const delays = arrivedAt.slice(first).flatMap((at, index) => at - (sentAt[first + index] ?? Number.NaN));
  return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), max: quantile(delays, 1) };
}

process.on('message', (command: LiveCommand) => {
  (command.kind === 'subscribe' ? subscribe(command) : publish(command)).catch((error: unknown) => {
    report({ kind: 'failed', message: String(error) });
  });
});
