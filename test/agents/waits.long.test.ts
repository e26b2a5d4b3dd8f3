import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { recordedBody } from '../support/agents.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { scrape } from '../support/metrics.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { answer, answers } from '../support/requests.ts';
import { signTaskToken } from '../support/tokens.ts';
import type { AgentReply, Work } from './waiting-agents.ts';

/* Many agents that wait: what each costs, and how soon it has the answer. The gateway and the agents are processes. */

/** On a signal, the gateway collects garbage and prints how many bytes are left. */
const PROBE = `process.on('SIGUSR2', () => {
  for (let round = 0; round < 4; round += 1) gc();
  const { heapUsed, external } = process.memoryUsage();
  console.error('left: ' + (heapUsed + external));
})`;
const PROBED = `--expose-gc --import=data:text/javascript,${encodeURIComponent(PROBE)}`;

let database: TestDatabase;
let gateway: GatewayProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGatewayProcess({
    ...settingsFor(database),
    LIVE_SWEEP_MS: '600000',
    LOG_LEVEL: 'warn',
    NODE_OPTIONS: PROBED,
  });
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

const TIMEOUT_MS = 180_000;
/** A task may have so many open requests. */
const OF_A_TASK = 20;

const ask = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] };
const doors = {
  hooks: {
    path: '/hooks/agent?agent=claude&project=p',
    // What is not used is not kept.
    body: { ...recordedBody('claude', 'Bash'), more: Array.from({ length: 1000 }, () => ({})) },
  },
  mcp: {
    path: '/mcp?project=p',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask_human', arguments: ask } },
  },
} as const;

const untilWaiting = (count: number) =>
  vi.waitFor(
    async () => {
      const { sum } = await scrape(gateway);
      expect(sum('gateway_live_subscribers')).toBe(count);
      expect(sum('db_client_connection_count', { db_client_connection_state: 'used' })).toBe(0);
    },
    { timeout: TIMEOUT_MS, interval: 100 },
  );

async function measureMemory(): Promise<number> {
  const printed = () => [...gateway.stderr().matchAll(/left: (\d+)\n/g)];
  const before = printed().length;
  process.kill(gateway.pid, 'SIGUSR2');
  await eventually(() => expect(printed()).toHaveLength(before + 1));
  return Number(printed().at(-1)?.[1]);
}

const running: ChildProcess[] = [];
function startAgents(work: Work): ChildProcess {
  const agents = fork('test/agents/waiting-agents.ts');
  running.push(agents);
  agents.send(work);
  return agents;
}
afterEach(async () => {
  for (const agents of running.splice(0)) {
    agents.kill();
    await once(agents, 'exit');
  }
  await untilWaiting(0);
});

/** Returns what a number of agents of a door send, each task's of the same user. */
async function createWork(door: keyof typeof doors, count: number): Promise<Work> {
  const { path, body } = doors[door];
  const users = Array.from({ length: count / OF_A_TASK }, (_one, index) => `${door}-${index}`);
  const tokens = await Promise.all(users.map((user) => signTaskToken(user, 'task-1')));
  const url = `${gateway.address}${path}`;
  return tokens.flatMap((token) => Array.from({ length: OF_A_TASK }, () => ({ url, token, body })));
}

test.each(['hooks', 'mcp'] as const)(
  '1,000 waits at %s hold no connection to the database, and at most 20 KiB each',
  { timeout: TIMEOUT_MS },
  async (door) => {
    const count = 1000;
    const work = await createWork(door, count);
    startAgents(work);
    await untilWaiting(count);
    for (const agents of running.splice(0)) {
      agents.kill();
      await once(agents, 'exit');
    }
    await untilWaiting(0);
    const before = await measureMemory();

    startAgents(work);
    await untilWaiting(count);

    expect(((await measureMemory()) - before) / count / 1024).toBeLessThan(20);
  },
);

test.each(['hooks', 'mcp', 'request'] as const)(
  'of 200 agents that wait at %s, half have the answer within 100 ms, and 99 % within a second',
  // Measured with other work on both cores, 99 % had it within 51 ms (hooks), 75 ms (MCP) and 28 ms (request).
  { timeout: TIMEOUT_MS },
  async (door) => {
    const count = 200;
    const work = door === 'request' ? await createRequests(count) : await createWork(door, count);
    const agents = startAgents(work);
    const delays: number[] = [];
    const done = new Promise<void>((resolve) => {
      agents.on('message', ({ text, at }: AgentReply) => {
        expect(text).toMatch(/"allow"|answered|ANSWERED/);
        delays.push(at - (answeredAt.shift() ?? Number.NaN));
        if (delays.length === count) resolve();
      });
    });
    const answeredAt: number[] = [];
    await untilWaiting(count);
    const rows = await database.sql(
      "select user_id, id from notification where request_state = 'open' and user_id like $1 order by user_id",
      [`${door}-%`],
    );
    expect(rows).toHaveLength(count);

    for (const { user_id: user, id } of rows) {
      const arrived = delays.length;
      const stored = answer(gateway, String(user), { id, ...answers.first });
      answeredAt.push(Date.now());
      await stored;
      await vi.waitFor(() => expect(delays).toHaveLength(arrived + 1), { timeout: TIMEOUT_MS, interval: 1 });
    }

    await done;
    delays.sort((one, other) => one - other);
    expect(delays[count / 2]).toBeLessThan(100);
    expect(delays[Math.ceil(0.99 * count) - 1]).toBeLessThan(1000);
  },
);

/** Publishes requests of tasks, and returns the operations that await them. */
async function createRequests(count: number): Promise<Work> {
  const query = `query ($userId: ID!, $id: ID!) { request(userId: $userId, notificationId: $id, waitSeconds: 55) { state } }`;
  const works = Array.from({ length: count }, async (_one, index) => {
    const userId = `request-${Math.floor(index / OF_A_TASK)}`;
    const task = { id: 'task-1', projectId: 'p' };
    const { id } = await publish(gateway, userId, 'question_requested', { task, supersedes: 'NOTHING' });
    const body = { query, variables: { userId, id } };
    return { url: `${gateway.address}/graphql`, token: await signTaskToken(userId, 'task-1'), body };
  });
  return Promise.all(works);
}
