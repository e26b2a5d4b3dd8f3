import { deepStrictEqual } from 'node:assert/strict';
import type { Bench } from './bench.ts';
import type { Caller } from './callers.ts';
import type { LoadRequest } from './load-process.ts';
import type { ServerProcess } from './server-process.ts';
import type { Way, Work } from './work.ts';

/** Somebody who does a work. */
export type Doer = { title: string; way: Way; server: ServerProcess };

/** Callers whose replies are compared; records of every kind and status are among them. */
const COMPARED = 3;

/**
 * Makes sure that all contenders do the same: their replies and what these changed are equal, and all of them refuse a
 * token whose signature is wrong.
 * @throws {Error} that tells where two are different
 */
export async function checkEquality(
  { client, callers }: Pick<Bench, 'client' | 'callers'>,
  work: Work,
  doers: readonly Doer[],
): Promise<void> {
  for (const caller of work.callers(callers).slice(0, COMPARED)) {
    const results: { title: string; result: unknown }[] = [];
    for (const { title, way, server } of doers) {
      await expectRefused(server.address, caller, way, title);
      await work.prepare?.(client);
      const content = way.content(await replyTo(server.address, firstOf(way, caller)));
      results.push({ title, result: { content, effect: await work.effect?.(client, caller) } });
    }
    const [expected, ...others] = results;
    for (const { title, result } of others) {
      try {
        deepStrictEqual(result, expected?.result);
      } catch (error) {
        throw new Error(`${work.title}: ${title} does not do the same as the gateway:\n${String(error)}`);
      }
    }
  }
}

function firstOf(way: Way, caller: Caller): LoadRequest {
  const [first] = way.requests(caller);
  if (first === undefined) throw new Error(`${caller.userId} asks for nothing.`);
  return first;
}

async function expectRefused(address: string, caller: Caller, way: Way, title: string): Promise<void> {
  const [header, claims, signature = ''] = caller.token.split('.');
  const wrong = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
  const { status } = await send(address, firstOf(way, { ...caller, token: `${header}.${claims}.${wrong}` }));
  if (status !== 401) throw new Error(`${title} answered ${status} to a token whose signature is wrong.`);
}

async function replyTo(address: string, request: LoadRequest): Promise<unknown> {
  const response = await send(address, request);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${request.path} was answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

function send(address: string, { path, ...request }: LoadRequest): Promise<Response> {
  return fetch(`${address}${path}`, request);
}
