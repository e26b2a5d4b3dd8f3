import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';

/*
 * How many files of the gateway a request passes through, from socket to socket: those with a function that a warm
 * gateway calls, as V8 counts, at least once for each of many requests. Raise a number only for something that every such
 * request needs.
 */

const gateway = useGateway();
const session = new Session();
const REPOSITORY = new URL('../..', import.meta.url).href;
/** Requests before those that count: operations are compiled, and statements prepared. */
const WARM_UP = 30;
/** So many that what runs from time to time is called less often, unless the machine is busy: two files of each change. */
const COUNTED = 100;

beforeAll(async () => {
  const all = Array.from({ length: WARM_UP + COUNTED }, (_, index) => index);
  await Promise.all(all.map((index) => publish(gateway, 'alice', 'task_failed', { id: `n-${index}` })));
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
});
afterAll(() => session.disconnect());

/** Returns the files in which a function was called so many times since the last call. */
async function takeFiles(times: number): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const own = result.filter(({ url }) => /^(src|rest)\//.test(url.replace(REPOSITORY, '')));
  const called = own.filter(({ functions }) =>
    functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) >= times),
  );
  return called.map(({ url }) => fileURLToPath(url).replace(fileURLToPath(REPOSITORY), '')).toSorted();
}

const INBOX =
  'query ($first: Int) { notifications(first: $first) { nodes { ... on UserNotification { id title } } } }';

test.each<[string, number, (index: number) => Promise<unknown>]>([
  ['a list', 36, () => gateway.as('alice').run(INBOX, { first: 20 })],
  ['a dismissal', 33, (index) => gateway.as('alice').rest.post(`/user/notifications/n-${index}/dismiss`)],
  ['GET /editor/auth', 25, () => gateway.as('alice').rest.get('/editor/auth')],
  ['a publication', 46, (index) => publish(gateway, 'bob', 'task_failed', { id: `n-${index}` })],
])('%s passes through at most %i files', async (_name, most, send) => {
  for (let index = 0; index < WARM_UP; index += 1) await send(index);
  await takeFiles(1);
  for (let index = WARM_UP; index < WARM_UP + COUNTED; index += 1) await send(index);
  const passed = await takeFiles(COUNTED);
  expect(passed.length).toBeGreaterThan(10);
  expect(passed.length, passed.join('\n')).toBeLessThanOrEqual(most);
});
