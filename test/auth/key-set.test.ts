import { expect, test, vi } from 'vitest';
import { midnight, setClock, sign, useIssuer } from './use-issuer.ts';

const at = useIssuer();
const { request, startWith, readiness } = at;
const DAY = 86_400;

test('verifies tokens against the key set at AUTH_JWKS_URL, which is fetched once', async () => {
  const key = await startWith('one');
  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(await request(await sign(key, 'one', 'bob'))).toBe(200);
  expect(at.issuer.requests()).toBe(1);
});

test('after a rotation the new key is fetched and the old one is rejected', async () => {
  const old = await startWith('one');
  await request(await sign(old, 'one'));
  const key = await at.issuer.rotate('two');
  setClock(60);
  expect(await request(await sign(key, 'two'))).toBe(200);
  expect(await request(await sign(old, 'one'))).toBe(401);
});

test('returns 500 over both APIs, not 401, if the key set was never fetched', async () => {
  const key = await at.issuer.rotate('one');
  at.issuer.fail();
  await at.start();
  const caller = at.gateway.as(() => sign(key, 'one'));

  const message = 'Internal error.';
  expect(await caller.rest.get('/user/workspaces')).toMatchObject({
    status: 500,
    body: { error: message, code: 'internal_error', errors: [] },
  });
  expect(await caller.graphql('{ workspaces { totalCount } }')).toMatchObject({
    status: 500,
    errors: [{ message, extensions: { code: 'INTERNAL_ERROR' } }],
  });
});

test('uses the fetched key set for a day while the issuer is unreachable, then returns 500 and is not ready', async () => {
  const key = await startWith('one');
  await request(await sign(key, 'one'));
  at.issuer.fail();
  setClock(DAY - 60);
  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(await request(await sign(key, 'unknown'))).toBe(401);
  expect(at.issuer.requests()).toBeGreaterThan(1);
  expect(await readiness()).toEqual([200, 'ok']);

  setClock(DAY + 1);
  expect(await request(await sign(key, 'one'))).toBe(500);
  const problem = 'is older than AUTH_JWKS_MAX_STALE_SECONDS because fetching AUTH_JWKS_URL fails';
  expect(await readiness()).toEqual([503, problem]);
  const errors = at.gateway.logLines().flatMap((line) => JSON.parse(line).err ?? []);
  const cause = { message: 'Fetching the key set returned status 503.' };
  expect(errors.at(-1)).toMatchObject({ message: `The key set ${problem}.`, cause });

  at.issuer.recover();
  setClock(DAY + 60);
  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(await readiness()).toEqual([200, 'ok']);
});

const fakeIntervals = () =>
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: midnight });

/** Advances the clock by a minute, with a round trip to the issuer between its steps. */
async function advanceMinute(): Promise<void> {
  for (let step = 0; step < 3; step += 1) {
    await vi.advanceTimersByTimeAsync(20_000);
    await (await fetch(at.issuer.url)).text();
  }
}

const open = (key: CryptoKey, kid: string) =>
  at.gateway.as(() => sign(key, kid)).follow('subscription { notificationEvents { cursor } }');
const endedBy = (code: string) => [
  { data: undefined, errors: [expect.objectContaining({ extensions: { code } })] },
];

test('ends a stream within a minute after the key of its token was removed, but not others', async () => {
  fakeIntervals();
  const [old, key] = [await at.issuer.add('old'), await at.issuer.add('new')];
  await at.start();
  const ending = await open(old, 'old');
  const staying = await open(key, 'new');
  await advanceMinute();
  expect([ending.results, staying.results]).toEqual([[], []]);

  at.issuer.withdraw('old');
  await advanceMinute();

  expect(await ending.ended).toBe('complete');
  expect(ending.results).toEqual(endedBy('UNAUTHENTICATED'));
  expect(staying.results).toEqual([]);
  staying.close();
});

test('keeps a stream open while the issuer is unreachable, until the key set is a day old', async () => {
  fakeIntervals();
  const stream = await open(await startWith('only'), 'only');
  at.issuer.fail();
  const requests = at.issuer.requests();
  await advanceMinute();
  expect(at.issuer.requests()).toBeGreaterThan(requests + 3);
  expect(stream.results).toEqual([]);
  expect(await Promise.race([stream.ended, 'open'])).toBe('open');

  setClock(DAY + 1);
  await advanceMinute();
  expect(await stream.ended).toBe('complete');
  expect(stream.results).toEqual(endedBy('INTERNAL_ERROR'));
});
