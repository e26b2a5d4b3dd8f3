import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { openStream } from '../support/sse.ts';
import { signToken } from '../support/tokens.ts';

let issuer: Issuer;
let gateway: TestGateway;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-01-01T00:00:00Z') });
  issuer = await startIssuer();
});
afterEach(async () => {
  vi.useRealTimers();
  await gateway.close();
  await issuer.close();
});

/** Starts the gateway, which fetches the key set immediately. */
async function start(): Promise<void> {
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url });
}

/** Starts the gateway with one published key. */
async function startWith(kid: string): Promise<CryptoKey> {
  const key = await issuer.rotate(kid);
  await start();
  return key;
}

const sign = (key: CryptoKey, kid: string) =>
  signToken({ sub: 'alice' }, { key, header: { alg: 'ES256', kid } });
const request = async (token: string) => (await rest(gateway, 'GET', '/user/workspaces', { token })).status;

test('verifies tokens against the key set at AUTH_JWKS_URL, which is fetched once', async () => {
  const key = await startWith('one');

  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(issuer.requests()).toBe(1);
});

test('after a rotation the new key is fetched and the old one is rejected', async () => {
  const old = await startWith('one');
  await request(await sign(old, 'one'));
  const key = await issuer.rotate('two');
  vi.setSystemTime('2026-01-01T00:01:00Z');

  expect(await request(await sign(key, 'two'))).toBe(200);
  expect(await request(await sign(old, 'one'))).toBe(401);
});

test('unknown key IDs do not cause a fetch each time', async () => {
  const key = await startWith('one');
  await request(await sign(key, 'one'));

  for (const kid of ['a', 'b', 'c']) expect(await request(await sign(key, kid))).toBe(401);
  expect(issuer.requests()).toBe(1);
});

test('returns 500 over both APIs, not 401, if the key set was never fetched', async () => {
  const key = await issuer.rotate('one');
  issuer.fail();
  await start();
  const token = await sign(key, 'one');

  const overRest = await rest(gateway, 'GET', '/user/workspaces', { token });
  const overGraphQL = await graphql(gateway, '{ workspaces { totalCount } }', {}, { token });

  expect(overRest.status).toBe(500);
  expect(overRest.body).toEqual({ error: 'Internal error.', code: 'internal_error', errors: [] });
  expect(overGraphQL.status).toBe(500);
  expect(overGraphQL.errors).toEqual([
    { message: 'Internal error.', extensions: { code: 'INTERNAL_ERROR' } },
  ]);
});

test('uses the fetched key set for a day while the issuer is unreachable, then returns 500 and is not ready', async () => {
  const key = await startWith('one');
  await request(await sign(key, 'one'));
  issuer.fail();
  const readiness = async () => {
    const response = await fetch(`${gateway.address}/readyz`);
    return [response.status, (await response.json()).checks.key_set];
  };
  vi.setSystemTime('2026-01-01T23:59:00Z');
  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(await request(await sign(key, 'unknown'))).toBe(401);
  expect(issuer.requests()).toBeGreaterThan(1);
  expect(await readiness()).toEqual([200, 'ok']);

  vi.setSystemTime('2026-01-02T00:00:01Z');
  const token = await sign(key, 'one');
  expect(await request(token)).toBe(500);
  expect((await graphql(gateway, '{ workspaces { totalCount } }', {}, { token })).status).toBe(500);
  const problem = 'is older than AUTH_JWKS_MAX_STALE_SECONDS because fetching AUTH_JWKS_URL fails';
  expect(await readiness()).toEqual([503, problem]);
  expect(gateway.logLines().map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({
      level: 50,
      err: expect.objectContaining({
        message: `The key set ${problem}.`,
        cause: expect.objectContaining({ message: 'Fetching the key set returned status 503.' }),
      }),
    }),
  );

  issuer.recover();
  vi.setSystemTime('2026-01-02T00:01:00Z');
  expect(await request(await sign(key, 'one'))).toBe(200);
  expect(await readiness()).toEqual([200, 'ok']);
});

/** Advances the clock by a minute, with a round trip to the issuer between its steps. */
async function advanceMinute(): Promise<void> {
  for (let step = 0; step < 3; step += 1) {
    await vi.advanceTimersByTimeAsync(20_000);
    await (await fetch(issuer.url)).text();
  }
}

test('ends a stream within a minute after the key of its token was removed, but not others', async () => {
  vi.useFakeTimers({
    toFake: ['Date', 'setInterval', 'clearInterval'],
    now: new Date('2026-01-01T00:00:00Z'),
  });
  const query = 'subscription { notificationEvents { cursor } }';
  const open = async (key: CryptoKey, kid: string) =>
    openStream(gateway, query, {}, { token: await sign(key, kid) });
  const [old, key] = [await issuer.add('old'), await issuer.add('new')];
  await start();
  const ending = await open(old, 'old');
  const staying = await open(key, 'new');
  await advanceMinute();
  expect([ending.results, staying.results]).toEqual([[], []]);

  issuer.withdraw('old');
  await advanceMinute();

  expect(await ending.ended).toBe('complete');
  expect(ending.results).toEqual([
    { data: undefined, errors: [expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED' } })] },
  ]);
  expect(staying.results).toEqual([]);
  staying.close();
});

test('keeps a stream open while the issuer is unreachable, until the key set is a day old', async () => {
  vi.useFakeTimers({
    toFake: ['Date', 'setInterval', 'clearInterval'],
    now: new Date('2026-01-01T00:00:00Z'),
  });
  const token = await signToken(
    { sub: 'alice', exp: Date.parse('2026-01-03T00:00:00Z') / 1000 },
    { key: await startWith('only'), header: { alg: 'ES256', kid: 'only' } },
  );
  const stream = await openStream(gateway, 'subscription { notificationEvents { cursor } }', {}, { token });
  issuer.fail();
  const requests = issuer.requests();
  await advanceMinute();
  expect(issuer.requests()).toBeGreaterThan(requests + 3);
  expect(stream.results).toEqual([]);
  expect(await Promise.race([stream.ended, 'open'])).toBe('open');

  vi.setSystemTime('2026-01-02T00:00:01Z');
  await advanceMinute();
  expect(await stream.ended).toBe('complete');
  expect(stream.results).toEqual([
    { data: undefined, errors: [expect.objectContaining({ extensions: { code: 'INTERNAL_ERROR' } })] },
  ]);
});
