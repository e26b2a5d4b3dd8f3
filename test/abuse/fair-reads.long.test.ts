import { setInterval } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { fillTables, insertRecords } from '../support/bulk-records.ts';
import { member } from '../support/tokens.ts';
import { createClient, quantile, type Sent, useMeasuredGateway } from './support/measured-gateway.ts';

/* Reads of one user must not slow down or fail reads of another, even without a rate limit. */

const gateway = useMeasuredGateway({}, (database) =>
  fillTables(database, ['notification', 'workspace'], async () => {
    await insertRecords(database, 'notification', 40_000, { user_id: "'mallory'" });
    await insertRecords(database, 'workspace', 4_000, { user_id: "'mallory'" });
  }),
);

/** Mallory's connections. Each of them receives a reply, on average, while Alice's requests are measured. */
const CONNECTIONS = 6;
const MIN_REQUESTS = 30;
const INTERVAL_MS = 20;

/**
 * Repeats Mallory's request on several connections, and meanwhile sends Alice's requests at a steady rate. Returns the
 * statuses, and two medians for Alice's requests: their duration, and how many of Mallory's requests were answered while
 * they waited. Unlike the duration, this number does not depend on other load on the machine.
 */
async function measureFairness(attack: Sent) {
  const statuses = new Set<number>();
  let answered = 0;
  let isDone = false;
  const [mallory, alice] = [createClient(gateway), createClient(gateway)];
  const senders = Array.from({ length: CONNECTIONS }, async () => {
    for (; !isDone; answered += 1) statuses.add((await mallory.send(attack)).status);
  });

  const read = { method: 'GET', path: '/editor/auth', token: await member('alice') };
  const replies: Promise<{ ms: number; overtaken: number }>[] = [];
  for await (const sent of setInterval(INTERVAL_MS, replies)) {
    const [at, before] = [performance.now(), answered];
    const reply = alice.send(read).then(({ status }) => {
      statuses.add(status);
      return { ms: performance.now() - at, overtaken: answered - before };
    });
    if (sent.push(reply) >= MIN_REQUESTS && answered >= CONNECTIONS) break;
  }
  const all = await Promise.all(replies);
  isDone = true;
  await Promise.all(senders);
  mallory.close();
  alice.close();
  return {
    statuses,
    ms: quantile(all.map(({ ms }) => ms)),
    overtaken: quantile(all.map(({ overtaken }) => overtaken)),
  };
}

const aliases = Array.from(
  { length: 20 },
  (_, index) =>
    `a${index}: notifications(first: ${index + 1}, filter: { kinds: TASK_FAILED }) { nodes { __typename } totalCount }`,
);
const query = JSON.stringify({ query: `{ ${aliases.join(' ')} }` });

test.each<[what: string, attack: Sent]>([
  ['notifications with filters that match none of 40,000', { body: query }],
  ['4,000 workspaces again and again', { method: 'GET', path: '/user/workspaces' }],
])(
  "listing %s does not slow down another user's reads",
  async (_what, given) => {
    const attack = { ...given, token: await member('mallory') };
    // Before code is compiled, requests take several times as long.
    for (let warming = 0; warming < 3; warming += 1) {
      const client = createClient(gateway);
      await client.send(attack);
      client.close();
    }
    const { statuses, ms, overtaken } = await measureFairness(attack);
    expect(statuses).toEqual(new Set([200]));
    expect(overtaken).toBe(0);
    expect(ms).toBeLessThan(1000);
  },
  60_000,
);
