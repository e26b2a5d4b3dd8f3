import { randomUUID } from 'node:crypto';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { settingsFor } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { member, platform, signTaskToken } from '../support/tokens.ts';
import { createClient, eventLoopMs, quantile } from './measured-gateway.ts';

/*
 * Callers repeat documents that cost much before anything could be charged, or that are never charged: three callers
 * without a token while GraphiQL is on, and one user and one task with tokens, who send until their limits are reached
 * and go on. A read of another user waits for one request of each. So that it takes at most three times as long, or five
 * times while they are at their limits, the median request of a flood may cost a share of what a read of a page costs.
 * Processor time does not depend on what else the machine does.
 */

/** Requests of a flood, and of reads. */
const REQUESTS = 400;
/** Maximum average processor time of the requests of a flood, in reads: those before the limits are reached cost more. */
const MAX_AVERAGE = 10;

/** A page of the maximum size. */
const PAGE = 100;
const READ = `{ user(id: "reader") { notifications(first: ${PAGE}) { nodes { ... on UserNotification {
  __typename ref id kind status title previewText task { id name projectId } occurredAt createdAt updatedAt resolution
} } } } }`;

const settings = () => ({
  ...settingsFor(database),
  // Reached early in a flood.
  RATE_LIMIT_READS_PER_MINUTE: '60',
  RATE_LIMIT_WRITES_PER_MINUTE: '120',
  RATE_LIMIT_TASKS_PER_MINUTE: '30',
  GRAPHIQL: 'true',
  LOG_LEVEL: 'warn',
});

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const gateway = await startGatewayProcess(settings());
  for (let count = 0; count < PAGE; count += 1) await publish(gateway, 'reader');
  await gateway.stop();
});
afterAll(() => database.drop());

let sent = 0;
/** Returns a number that no other call returns. */
const next = () => {
  sent += 1;
  return sent;
};
const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_none, index) => make(index)).join(' ');

const optionNames = [
  ...['descriptions', 'specifiedByUrl', 'directiveIsRepeatable', 'schemaDescription'],
  ...['inputValueDeprecation', 'experimentalDirectiveDeprecation', 'oneOf'],
];
/** Returns the query of graphql-js with one combination of its options after another. */
function nextStandardQuery(): string {
  const bits = next();
  const options = optionNames.map((name, index) => [name, (bits & (1 << index)) !== 0]);
  return getIntrospectionQuery(Object.fromEntries(options));
}

const SPREADS = repeat(50, (i) => `...F${i}`);
const FRAGMENTS = repeat(
  50,
  (i) => `fragment F${i} on Workspace { ${'a: id b: status c: projectId '.repeat(6)} }`,
);
const ALL_OF_TYPES = `types { ${repeat(16, (i) => `a${i}: fields { name description }`)} }`;

const toBody = (query: string, variables?: unknown) => JSON.stringify({ query, variables });

type Document = { what: string; create: () => string; variables?: () => object };

const introspection: Document[] = [
  {
    what: 'unique introspection of the maximum cost',
    create: () => `query Q${next()} { __schema { ${ALL_OF_TYPES} } }`,
  },
  {
    what: 'unique introspection that exceeds the maximum cost',
    create: () => `query Q${next()} { __schema { ${repeat(40, (i) => `a${i}: ${ALL_OF_TYPES}`)} } }`,
  },
  {
    what: 'one document of introspection with variables',
    create: () => 'query ($name: String!) { __type(name: $name) { fields { description type { name } } } }',
    variables: () => ({ name: `T${next()}` }),
  },
  { what: 'all standard introspection queries', create: nextStandardQuery },
  { what: 'one standard introspection query', create: () => getIntrospectionQuery() },
];

const anonymous: Document[] = [
  ...introspection,
  {
    what: 'unique documents of 15 kB with a syntax error at the end',
    create: () => `query Q${next()} { __typename ${repeat(1400, (i) => `...F${i}`)} {`,
  },
  { what: 'unique documents that need a token', create: () => `{ a${next()} { ${'id '.repeat(4900)} } }` },
  { what: 'unique documents without a selection', create: () => `${next()}${' '.repeat(15_000)}` },
];

const withTokens: Document[] = [
  ...introspection,
  {
    what: 'unique documents of 1,000 characters that select a field 300 times',
    create: () => `query Q${next()} { workspaces(first: 1) { nodes { ${'id '.repeat(300)} } } }`,
  },
  {
    what: 'unique documents with 50 fragments',
    create: () => `query Q${next()} { workspaces { nodes { ${SPREADS} } } } ${FRAGMENTS}`,
  },
  {
    what: 'unique documents of 60 kB',
    create: () =>
      `query Q${next()} { workspaces { nodes { ${repeat(4800, () => 'createdAt')} } } }`.padEnd(60_000),
  },
];

/** `max` is how many times as long as without the flood a read may take. */
type Flood = Document & { tokens: () => Promise<(string | undefined)[]>; max: number };

const floods: Flood[] = [
  ...anonymous.map((document) => ({
    ...document,
    what: `${document.what}, without a token`,
    tokens: async () => [undefined, undefined, undefined],
    max: 3,
  })),
  ...withTokens.map((document) => ({
    ...document,
    what: `${document.what}, with tokens`,
    tokens: () => Promise.all([member(randomUUID()), signTaskToken(randomUUID(), 'task-1')]),
    max: 5,
  })),
];

/** Returns the processor time that the event loop of a process takes for each of some requests, in milliseconds. */
async function measure(pid: number, send: (index: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < REQUESTS; index += 1) {
    const started = eventLoopMs(pid);
    await send(index);
    times.push(eventLoopMs(pid) - started);
  }
  return times;
}

test.each(floods)(
  'the limits of documents stop a flood of $what',
  async (flood) => {
    const { create, variables, tokens, max } = flood;
    const gateway = await startGatewayProcess(settings());
    const client = createClient(gateway);
    const callers = await tokens();
    const reader = await platform('platform:read');
    const body = toBody(READ);
    const read = async () => expect((await client.send({ token: reader, body })).status).toBe(200);
    await measure(gateway.pid, read);
    const readMs = quantile(await measure(gateway.pid, read));

    const statuses: number[] = [];
    const times = await measure(gateway.pid, async (index) => {
      const token = callers[index % callers.length];
      statuses.push((await client.send({ token, body: toBody(create(), variables?.()) })).status);
    });
    client.close();
    await gateway.stop();

    const average = times.reduce((sum, ms) => sum + ms, 0) / times.length;
    expect(new Set(statuses).difference(new Set([200, 400, 401, 429]))).toEqual(new Set());
    expect((quantile(times) * callers.length) / readMs).toBeLessThan(max - 1);
    expect(average / readMs).toBeLessThan(MAX_AVERAGE);
  },
  60_000,
);
