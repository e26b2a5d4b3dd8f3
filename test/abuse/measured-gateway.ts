import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { settingsFor } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';

/** A gateway in a process of its own, whose memory and processor time are measured. */
export type MeasuredGateway = {
  readonly address: string;
  readonly pid: number;
  readonly database: TestDatabase;
};

/** Starts a process before the tests of a file, after `fill` has filled its database, and stops it after them. */
export function useMeasuredGateway(
  settings: Record<string, string> = {},
  fill: (database: TestDatabase) => Promise<unknown> = async () => undefined,
): MeasuredGateway {
  let database: TestDatabase;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    database = await createTestDatabase();
    await fill(database);
    gateway = await startGatewayProcess({ ...settingsFor(database), LOG_LEVEL: 'warn', ...settings });
  }, 120_000);
  afterAll(async () => {
    await gateway.stop();
    await database.drop();
  });
  return {
    get address() {
      return gateway.address;
    },
    get pid() {
      return gateway.pid;
    },
    get database() {
      return database;
    },
  };
}

/** Returns by how much the resident memory of a process rises at most during `work`, in MiB. */
export async function measureMemoryMiB(
  { pid }: { pid: number },
  work: () => Promise<unknown>,
): Promise<number> {
  // Resets the peak (proc(5), `clear_refs`).
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = peakMemoryMiB(pid);
  await work();
  return peakMemoryMiB(pid) - before;
}

function peakMemoryMiB(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status has no VmHWM.`);
  return Number(kilobytes) / 1024;
}

/** Clock ticks in a second, as Linux reports them (proc(5), sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;

/** Returns the processor time of a process in milliseconds, with a resolution of 10 ms. */
export function processorTimeMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program's name is in parentheses and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return ((user + system) * 1000) / TICKS_PER_SECOND;
}

/** Returns the average processor time that a process takes for a request, in milliseconds. */
export async function measureProcessorTime(
  { pid }: { pid: number },
  times: number,
  send: () => Promise<unknown>,
): Promise<number> {
  const before = processorTimeMs(pid);
  for (let count = 0; count < times; count += 1) await send();
  return (processorTimeMs(pid) - before) / times;
}

/** Returns the processor time of a process's first thread, which runs the event loop, in milliseconds. */
export function eventLoopMs(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

export type Sent = {
  path?: string;
  method?: string;
  token?: string | undefined;
  body?: string | Buffer | undefined;
};

/** Creates a client that keeps connections, and costs less than the gateway. */
export function createClient(gateway: { readonly address: string }) {
  const agent = new Agent({ keepAlive: true });
  return {
    /** Sends a request, by default to the GraphQL API, and discards the content of its reply. */
    async send({ path = '/graphql', method = 'POST', token, body }: Sent) {
      const request = httpRequest(`${gateway.address}${path}`, {
        agent,
        method,
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          Accept: 'application/graphql-response+json, */*',
          'Content-Type': 'application/json',
          ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
        },
      }).end(body);
      const [response]: IncomingMessage[] = await once(request, 'response');
      if (response === undefined) throw new Error('There was no response.');
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      await once(response, 'end');
      return { status: response.statusCode ?? 0, bytes };
    },
    close: () => agent.destroy(),
  };
}

/** Returns the number below which a share of numbers is, by default the median. */
export function quantile(numbers: readonly number[], share = 0.5): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)] ?? 0;
}
