import { setTimeout as pause } from 'node:timers/promises';
import { startGateway } from './gateway-process.ts';
import { createIssuer, type Issuer } from './issuer.ts';
import { openSubscribers, type Subscribers } from './live-subscribers.ts';
import { checkOpenFiles } from './open-files.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { say } from './say.ts';
import type { ServerProcess } from './server-process.ts';
import { preciseNow, quantile } from './statistics.ts';

/*
 * Many users wait for notifications while others arrive: whether all of them come, how long they take, and what a
 * waiting user costs. `--quick` for a glance.
 */

const isQuick = process.argv.includes('--quick');
const SUBSCRIBERS = isQuick ? 500 : 2000;
const SECONDS = isQuick ? 5 : 15;
const PER_SECOND = 200;
/** Before memory is measured some come and go: code that is compiled is no subscriber's. */
const PASSING = 200;
/** Before delays are measured events flow for so long. */
const WARM_UP_SECONDS = 3;
const SETTLE_MS = 5000;
/** The longest that an event may take to arrive. */
const PATIENCE_MS = 10_000;

async function main(): Promise<void> {
  await checkOpenFiles(SUBSCRIBERS);
  const issuer = await createIssuer();
  say('Starting PostgreSQL and the gateway');
  const gateway = await startGateway(issuer.environment);
  const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:write' });
  const publisher = createPublisher(gateway.address, token);
  try {
    await (await open(gateway, issuer, PASSING)).stop();
    await pause(SETTLE_MS);
    const isWhole = await measure(gateway, issuer, publisher);
    if (!isWhole) process.exitCode = 1;
  } finally {
    publisher.close();
    await gateway.stop();
  }
}

/** Measures and prints; answers whether every event arrived exactly once. */
async function measure(gateway: ServerProcess, issuer: Issuer, publisher: Publisher): Promise<boolean> {
  const before = await gateway.memory();
  const subscribers = await open(gateway, issuer, SUBSCRIBERS);
  try {
    await pause(SETTLE_MS);
    const idle = await gateway.memory();
    say(`Publishing ${PER_SECOND} events a second: ${WARM_UP_SECONDS} s to warm up, then ${SECONDS} s`);
    const early = idsOf('early', WARM_UP_SECONDS * PER_SECOND);
    const ids = idsOf('event', SECONDS * PER_SECOND);
    const progress = setInterval(() => say(`  ${subscribers.arrivals.length} arrived`), SETTLE_MS);
    await publisher.publish([...early, ...ids], PER_SECOND, (index) => `user-${index % SUBSCRIBERS}`);
    clearInterval(progress);
    await allArrived(subscribers, early.length + ids.length);
    say('');
    const isWhole = sayEvents(subscribers, [...early, ...ids]);
    sayDelays(subscribers, publisher, new Set(ids));
    sayMemory({ before, idle, after: await gateway.memory() });
    return isWhole;
  } finally {
    await subscribers.stop();
  }
}

async function open({ address }: ServerProcess, issuer: Issuer, count: number): Promise<Subscribers> {
  const users = Array.from({ length: count }, (_, index) => `user-${index}`);
  const tokens = await Promise.all(users.map((sub) => issuer.sign({ sub, org_id: 'acme' })));
  const started = performance.now();
  return openSubscribers({ address, tokens }, (open) =>
    say(`  ${open} subscribers after ${Math.round(performance.now() - started)} ms`),
  );
}

async function allArrived({ arrivals }: Subscribers, count: number): Promise<void> {
  const deadline = preciseNow() + PATIENCE_MS;
  while (arrivals.length < count && preciseNow() < deadline) await pause(50);
}

function sayEvents({ arrivals, failures }: Subscribers, ids: readonly string[]): boolean {
  const arrived = new Set(arrivals.map(({ id }) => id));
  const missing = ids.filter((id) => !arrived.has(id)).length;
  say(`events        ${ids.length} published, ${ids.length - missing} arrived, ${missing} missing`);
  if (arrivals.length > arrived.size) say(`              ${arrivals.length - arrived.size} came twice`);
  for (const failure of new Set(failures)) say(`              ${failure}`);
  return missing === 0 && arrivals.length === arrived.size && failures.length === 0;
}

function sayDelays({ arrivals }: Subscribers, { sentAt }: Publisher, ids: ReadonlySet<string>): void {
  const measured = arrivals.filter(({ id }) => ids.has(id));
  const line = (name: string, delays: readonly number[]) => {
    const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(delays, share).toFixed(1));
    say(`${name.padEnd(17)}p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
  };
  say('delay until the client has it');
  line(
    '  from sending',
    measured.map(({ id, at }) => at - (sentAt.get(id) ?? Number.NaN)),
  );
  line(
    '  from createdAt',
    measured.map(({ createdAt, at }) => at - createdAt),
  );
}

function sayMemory({ before, idle, after }: Record<'before' | 'idle' | 'after', number>): void {
  const each = (kib: number) => `${((kib - before) / SUBSCRIBERS).toFixed(1)} KiB a subscriber`;
  const mib = (kib: number) => `${(kib / 1024).toFixed(1)} MiB`;
  say('resident memory of the gateway');
  say(`  no subscribers         ${mib(before)}`);
  say(`  ${SUBSCRIBERS} idle              ${mib(idle)}, ${each(idle)}`);
  say(`  ${SUBSCRIBERS} after the events  ${mib(after)}, ${each(after)}`);
}

function idsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
