import { deepStrictEqual } from 'node:assert/strict';
import type { Bench } from './bench.ts';
import type { Caller } from './callers.ts';
import type { LoadRequest } from './load-process.ts';
import type { ServerProcess } from './server-process.ts';
import type { Implementation, Workload } from './workload.ts';

/** A started contender of a workload. */
export type RunningContender = { title: string; implementation: Implementation; server: ServerProcess };

/** The number of callers whose replies are compared. Readers have records of every kind and status. */
const COMPARED_CALLERS = 3;

/**
 * Checks that all contenders do the same: that their replies and changes are equal, and that they reject a token with
 * an invalid signature.
 * @throws {Error} with the difference
 */
export async function checkEquality(
  { client, callers }: Pick<Bench, 'client' | 'callers'>,
  workload: Workload,
  running: readonly RunningContender[],
): Promise<void> {
  for (const caller of workload.callers(callers).slice(0, COMPARED_CALLERS)) {
    const results: { title: string; result: unknown }[] = [];
    for (const { title, implementation, server } of running) {
      await expectUnauthorized(server.address, caller, implementation, title);
      await workload.prepare?.(client);
      const content = implementation.normalize(
        await readReply(server.address, firstRequest(implementation, caller)),
      );
      const effect = await workload.readEffect?.(client, caller);
      results.push({ title, result: { content, effect } });
    }
    const [expected, ...others] = results;
    for (const { title, result } of others) {
      try {
        deepStrictEqual(result, expected?.result);
      } catch (error) {
        throw new Error(`${workload.title}: ${title} and the gateway differ:\n${String(error)}`);
      }
    }
  }
}

function firstRequest(implementation: Implementation, caller: Caller): LoadRequest {
  const [first] = implementation.requests(caller);
  if (first === undefined) throw new Error(`${caller.userId} has no request.`);
  return first;
}

async function expectUnauthorized(
  address: string,
  caller: Caller,
  implementation: Implementation,
  title: string,
): Promise<void> {
  const [header, claims, signature = ''] = caller.token.split('.');
  const wrong = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
  const { status } = await send(
    address,
    firstRequest(implementation, { ...caller, token: `${header}.${claims}.${wrong}` }),
  );
  if (status !== 401) throw new Error(`${title} returned ${status} for a token with an invalid signature.`);
}

async function readReply(address: string, request: LoadRequest): Promise<unknown> {
  const response = await send(address, request);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${request.path} returned ${response.status}: ${text}`);
  return JSON.parse(text);
}

function send(address: string, { path, ...request }: LoadRequest): Promise<Response> {
  return fetch(`${address}${path}`, request);
}
