import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { type Issuer, startIssuer } from './support/issuer.ts';
import { openStream } from './support/sse.ts';
import { signToken } from './support/tokens.ts';

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

/** Starts the gateway, which fetches the key set at once. */
async function start(): Promise<void> {
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url });
}

/** Starts the gateway with one key published. */
async function startWith(kid: string): Promise<CryptoKey> {
  const key = await issuer.rotate(kid);
  await start();
  return key;
}

const signed = (key: CryptoKey, kid: string) =>
  signToken({ sub: 'alice' }, { key, header: { alg: 'ES256', kid } });
const statusFor = async (token: string) => (await rest(gateway, 'GET', '/user/workspaces', { token })).status;

test('tokens are verified against the key set at its address, which is fetched once', async () => {
  const key = await startWith('one');

  expect(await statusFor(await signed(key, 'one'))).toBe(200);
  expect(await statusFor(await signed(key, 'one'))).toBe(200);
  expect(issuer.requests()).toBe(1);
});

test('after a rotation the new key is fetched and the old one no longer holds', async () => {
  const old = await startWith('one');
  await statusFor(await signed(old, 'one'));
  const key = await issuer.rotate('two');
  vi.setSystemTime('2026-01-01T00:01:00Z');

  expect(await statusFor(await signed(key, 'two'))).toBe(200);
  expect(await statusFor(await signed(old, 'one'))).toBe(401);
});

test('unknown key ids do not make the gateway fetch the key set each time', async () => {
  const key = await startWith('one');
  await statusFor(await signed(key, 'one'));

  for (const kid of ['a', 'b', 'c']) expect(await statusFor(await signed(key, kid))).toBe(401);
  expect(issuer.requests()).toBe(1);
});

test('a key set that was never fetched is an internal error on both faces, never a refused token', async () => {
  const key = await issuer.rotate('one');
  issuer.fail();
  await start();
  const token = await signed(key, 'one');

  const overRest = await rest(gateway, 'GET', '/user/workspaces', { token });
  const overGraphQL = await graphql(gateway, '{ workspaces { totalCount } }', {}, { token });

  expect(overRest.status).toBe(500);
  expect(overRest.body).toEqual({ error: 'Internal error.', code: 'internal_error', errors: [] });
  expect(overGraphQL.status).toBe(500);
  expect(overGraphQL.errors).toEqual([
    { message: 'Internal error.', extensions: { code: 'INTERNAL_ERROR' } },
  ]);
});

test('a key set that was fetched goes on holding while its address does not answer, for hours', async () => {
  const key = await startWith('one');
  await statusFor(await signed(key, 'one'));
  issuer.fail();
  vi.setSystemTime('2026-01-01T05:00:00Z');

  expect(await statusFor(await signed(key, 'one'))).toBe(200);
  expect(await statusFor(await signed(key, 'unknown'))).toBe(401);
  expect(issuer.requests()).toBeGreaterThan(1);
});

/** Lets a minute pass by the clock, with a round trip to the issuer between its steps. */
async function passMinute(): Promise<void> {
  for (let step = 0; step < 3; step += 1) {
    await vi.advanceTimersByTimeAsync(20_000);
    await (await fetch(issuer.url)).text();
  }
}

test('a stream ends within a minute after the key of its token has left the key set, others go on', async () => {
  vi.useFakeTimers({
    toFake: ['Date', 'setInterval', 'clearInterval'],
    now: new Date('2026-01-01T00:00:00Z'),
  });
  const query = 'subscription { notificationEvents { cursor } }';
  const open = async (key: CryptoKey, kid: string) =>
    openStream(gateway, query, {}, { token: await signed(key, kid) });
  const [old, key] = [await issuer.add('old'), await issuer.add('new')];
  await start();
  const ending = await open(old, 'old');
  const staying = await open(key, 'new');
  await passMinute();
  expect([ending.results, staying.results]).toEqual([[], []]);

  issuer.withdraw('old');
  await passMinute();

  expect(await ending.ended).toBe('complete');
  expect(ending.results).toEqual([
    { data: undefined, errors: [expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED' } })] },
  ]);
  expect(staying.results).toEqual([]);
  staying.close();
});

test('a stream outlives an issuer that does not answer', async () => {
  vi.useFakeTimers({
    toFake: ['Date', 'setInterval', 'clearInterval'],
    now: new Date('2026-01-01T00:00:00Z'),
  });
  const token = await signed(await startWith('only'), 'only');
  const stream = await openStream(gateway, 'subscription { notificationEvents { cursor } }', {}, { token });
  issuer.fail();
  const requests = issuer.requests();
  await passMinute();
  expect(issuer.requests()).toBeGreaterThan(requests + 3);
  expect(stream.results).toEqual([]);
  expect(await Promise.race([stream.ended, 'open'])).toBe('open');
  stream.close();
});
