import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setInterval } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fillTables, insertRecords } from '../support/bulk-records.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { settingsFor } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { member } from '../support/tokens.ts';

/* Reads of one user must not slow down or fail reads of another, even without a rate limit. */

let database: TestDatabase;
let gateway: GatewayProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  await fillTables(database, ['notification', 'workspace'], async () => {
    await insertRecords(database, 'notification', 40_000, { user_id: "'mallory'" });
    await insertRecords(database, 'workspace', 4_000, { user_id: "'mallory'" });
  });
  gateway = await startGatewayProcess({ ...settingsFor(database), LOG_LEVEL: 'warn' });
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

/** Mallory's connections. Each of them receives a reply, on average, while Alice's requests are measured. */
const CONNECTIONS = 6;
const MIN_REQUESTS = 30;
const INTERVAL_MS = 20;

/** Sends a request and discards the reply, so that this process is not the bottleneck. */
async function send(
  agent: Agent,
  method: string,
  path: string,
  token: string,
  body?: string,
): Promise<number> {
  const request = httpRequest(`${gateway.address}${path}`, {
    agent,
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  }).end(body);
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('There was no response.');
  await once(response.resume(), 'end');
  return response.statusCode ?? 0;
}

/**
 * Repeats Mallory's request on several connections, and meanwhile sends Alice's requests at a steady rate. Returns the
 * statuses, and two medians for Alice's requests: their duration, and how many of Mallory's requests were answered while
 * they waited. Unlike the duration, this number does not depend on other load on the machine.
 */
async function measureFairness(repeat: (agent: Agent) => Promise<number>) {
  const statuses = new Set<number>();
  let answered = 0;
  let isDone = false;
  const [malloryAgent, aliceAgent] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  const senders = Array.from({ length: CONNECTIONS }, async () => {
    for (; !isDone; answered += 1) statuses.add(await repeat(malloryAgent));
  });

  const token = await member('alice');
  const replies: Promise<{ ms: number; overtaken: number }>[] = [];
  for await (const sent of setInterval(INTERVAL_MS, replies)) {
    const [at, before] = [performance.now(), answered];
    const reply = send(aliceAgent, 'GET', '/editor/auth', token).then((status) => {
      statuses.add(status);
      return { ms: performance.now() - at, overtaken: answered - before };
    });
    if (sent.push(reply) >= MIN_REQUESTS && answered >= CONNECTIONS) break;
  }
  const all = await Promise.all(replies);
  isDone = true;
  await Promise.all(senders);
  malloryAgent.destroy();
  aliceAgent.destroy();
  return {
    statuses,
    ms: median(all.map(({ ms }) => ms)),
    overtaken: median(all.map((one) => one.overtaken)),
  };
}

function median(numbers: number[]): number | undefined {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

const aliases = Array.from(
  { length: 20 },
  (_, index) =>
    `a${index}: notifications(first: ${index + 1}, filter: { kinds: TASK_FAILED }) { nodes { __typename } totalCount }`,
);
const query = JSON.stringify({ query: `{ ${aliases.join(' ')} }` });

test.each([
  ['notifications with filters that match none of 40,000', 'POST', '/graphql', query],
  ['4,000 workspaces again and again', 'GET', '/user/workspaces', undefined],
])(
  "listing %s does not slow down another user's reads",
  async (_what, method, path, body) => {
    const token = await member('mallory');
    const repeat = (agent: Agent) => send(agent, method, path, token, body);
    // Before code is compiled, requests take several times as long.
    for (let warming = 0; warming < 3; warming += 1) await repeat(new Agent());
    const { statuses, ms, overtaken } = await measureFairness(repeat);
    expect(statuses).toEqual(new Set([200]));
    expect(overtaken).toBe(0);
    expect(ms).toBeLessThan(1000);
  },
  60_000,
);
