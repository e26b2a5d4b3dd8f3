import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { member } from '../support/tokens.ts';
import {
  createClient,
  measureProcessorTime,
  quantile,
  type Sent,
  useMeasuredGateway,
} from './support/measured-gateway.ts';

/*
 * A user whose reads or writes are used up, but not both, keeps sending requests in which no root field runs: invalid
 * bodies of a megabyte, introspection, and operations that the rate limit refuses. After as many of them as the limit
 * of reads, the gateway must reject them before it reads their bodies, so that other users can still be served.
 */

/** Points of reads and of writes. */
const LIMIT = 10;
/** The attacker's connections. */
const CONNECTIONS = 4;
/** A flood ends once this many of its requests have been answered, and this many reads of other users. */
const MIN_FLOOD = 60;
const MIN_READS = 20;
/** A request counts once it has been answered, so each of the other connections can exceed the limit once. */
const MAX_SERVED = LIMIT + CONNECTIONS - 1;

const gateway = useMeasuredGateway({
  RATE_LIMIT_READS_PER_MINUTE: String(LIMIT),
  RATE_LIMIT_WRITES_PER_MINUTE: String(LIMIT),
});
const client = createClient(gateway);
/** Processor time of a read, in milliseconds. */
let readMs: number;

beforeAll(async () => {
  // Before code is compiled, requests take several times as long.
  await measureProcessorTime(gateway, 100, readAsNextUser);
  readMs = await measureProcessorTime(gateway, 200, readAsNextUser);
  const alone = [];
  while (alone.length < MIN_READS) alone.push(await measureDuration(readAsNextUser));
  print(`alone (${readMs} ms of processor time)`, alone);
});
afterAll(() => client.close());

type Reply = { status: number; isBlocked: boolean };

async function send(sent: Sent): Promise<Reply> {
  const response = await client.open(sent);
  const reply = await text(response);
  const { statusCode: status = 0 } = response;
  // An error of a root field has a path. A request that is refused because of unfinished bodies is charged too.
  const isCharged = /"path"|unfinished bodies/.test(reply);
  return { status, isBlocked: status === 429 && !isCharged };
}

/** Prepares a GraphQL request. */
function prepare(query: string, variables?: unknown) {
  const body = Buffer.from(JSON.stringify({ query, variables }));
  return (token: string) => send({ token, body });
}

const read = prepare('{ editorAuth { needsReauth } }');
const write = prepare('mutation { deleteEditorAuth { editorAuth { needsReauth } } }');

let reads = 0;

/** Sends a read of a user who has reads left. */
async function readAsNextUser(): Promise<void> {
  const token = await member(`reader-${Math.floor(reads / LIMIT)}`);
  reads += 1;
  const { status } = await read(token);
  if (status !== 200) throw new Error(`A read returned ${status}.`);
}

async function measureDuration(send: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await send();
  return performance.now() - before;
}

/** Repeats a request on several connections, and meanwhile measures the reads of other users, one after another. */
async function flood(attack: () => Promise<Reply>) {
  const replies: Reply[] = [];
  const durations: number[] = [];
  const isDone = () => replies.length >= MIN_FLOOD && durations.length >= MIN_READS;
  await Promise.all([
    ...Array.from({ length: CONNECTIONS }, async () => {
      while (!isDone()) replies.push(await attack());
    }),
    (async () => {
      while (!isDone()) durations.push(await measureDuration(readAsNextUser));
    })(),
  ]);
  return { replies, durations };
}

/** Prints the median and the maximum of durations if `PRINT_LATENCIES` is set. */
function print(what: string, durations: readonly number[], more = ''): void {
  if (process.env.PRINT_LATENCIES === undefined) return;
  const [p50, max] = [quantile(durations), Math.max(...durations)].map((ms) => ms.toFixed(1));
  process.stdout.write(`reads ${what}: n=${durations.length} p50=${p50} ms max=${max} ms ${more}\n`);
}

const preferences = Array<unknown>(340_000).fill({});
const putBody = Buffer.from(JSON.stringify({ preferences }));

type Attack = {
  what: string;
  /** Uses up the attacker's points. */
  useUp: (token: string) => Promise<Reply>;
  attack: (token: string) => Promise<Reply>;
  /** The status of the requests until they are rejected before their bodies are read. */
  status: number;
};

test.each<Attack>([
  {
    what: '1 MB bodies with an invalid document',
    useUp: read,
    attack: prepare('{ unknown }', { preferences }),
    status: 400,
  },
  {
    what: 'introspection queries',
    useUp: read,
    attack: prepare(getIntrospectionQuery()),
    status: 200,
  },
  {
    what: 'invalid 1 MB bodies over REST',
    useUp: read,
    attack: (token) => send({ method: 'PUT', path: '/user/notification-preferences', token, body: putBody }),
    status: 422,
  },
  { what: 'reads that the limit refuses', useUp: read, attack: read, status: 429 },
  { what: 'mutations that the limit refuses', useUp: write, attack: write, status: 429 },
])(
  'a flood of $what is soon rejected at low cost, and does not slow down reads of other users',
  async ({ what, useUp, attack, status }) => {
    const token = await member(randomUUID());
    for (let count = 0; count < LIMIT; count += 1) expect((await useUp(token)).status).toBe(200);

    const { replies, durations } = await flood(() => attack(token));
    const blockedMs = await measureProcessorTime(gateway, 50, async () => {
      replies.push(await attack(token));
    });
    const served = replies.filter(({ isBlocked }) => !isBlocked);
    print(
      `beside ${what}`,
      durations,
      `served=${served.length}/${replies.length} cost=${(blockedMs / readMs).toFixed(1)}`,
    );

    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([status, 429]));
    expect(served.length).toBeGreaterThanOrEqual(LIMIT);
    expect(served.length).toBeLessThanOrEqual(MAX_SERVED);
    // Receiving a body of a megabyte costs two to four reads. Parsing it as well costs more than twenty.
    expect(blockedMs / readMs).toBeLessThan(15);
    expect(quantile(durations)).toBeLessThan(400);
  },
);
