import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

/*
 * How many files of the gateway a request passes through, from socket to socket: those with a function that V8 has counted
 * in every one of several requests to a warm gateway. Raise a number only for something that every such request needs.
 */

const gateway = useGateway();
const session = new Session();
const REPOSITORY = new URL('../..', import.meta.url).href;
/** Requests before those that count: operations are compiled, and statements prepared. */
const WARM_UP = 30;
const COUNTED = 5;

beforeAll(async () => {
  const all = Array.from({ length: WARM_UP + COUNTED }, (_, index) => index);
  for (const index of all) await publish(gateway, 'alice', 'task_failed', { id: `n-${index}` });
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
});
afterAll(() => session.disconnect());

/** Returns the files in which a function was called since the last call. */
async function takeFiles(): Promise<ReadonlySet<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const own = result.filter(({ url }) => /^(src|rest)\//.test(url.replace(REPOSITORY, '')));
  const called = own.filter(({ functions }) =>
    functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0),
  );
  return new Set(called.map(({ url }) => fileURLToPath(url).replace(fileURLToPath(REPOSITORY), '')));
}

const INBOX =
  'query ($first: Int) { notifications(first: $first) { nodes { ... on UserNotification { id title } } } }';

test.each<[string, number, (index: number) => Promise<unknown>]>([
  ['a list', 43, () => asMember(gateway, 'alice', INBOX, { first: 20 })],
  [
    'a dismissal',
    38,
    async (index) =>
      rest(gateway, 'POST', `/user/notifications/n-${index}/dismiss`, { token: await member('alice') }),
  ],
  [
    'GET /editor/auth',
    30,
    async () => rest(gateway, 'GET', '/editor/auth', { token: await member('alice') }),
  ],
  ['a publication', 54, (index) => publish(gateway, 'bob', 'task_failed', { id: `n-${index}` })],
])('%s passes through at most %i files', async (_name, most, send) => {
  for (let index = 0; index < WARM_UP; index += 1) await send(index);
  await takeFiles();
  let files: ReadonlySet<string> | undefined;
  for (let index = WARM_UP; index < WARM_UP + COUNTED; index += 1) {
    await send(index);
    const found = await takeFiles();
    files = files?.intersection(found) ?? found;
  }
  const passed = [...(files ?? [])].toSorted();
  expect(passed.length).toBeGreaterThan(10);
  expect(passed.length, passed.join('\n')).toBeLessThanOrEqual(most);
});
