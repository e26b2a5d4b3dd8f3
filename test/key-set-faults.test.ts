import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { type Issuer, startIssuer } from './support/issuer.ts';
import { signToken } from './support/tokens.ts';

const midnight = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => vi.setSystemTime(midnight + seconds * 1000);

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

let issuer: Issuer;
let gateway: TestGateway;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: midnight });
  issuer = await startIssuer();
});
afterEach(async () => {
  vi.useRealTimers();
  await gateway.close();
  await issuer.close();
});

/** Starts the gateway, which fetches the key set at once. */
async function start(): Promise<void> {
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url }, database);
}

/** Starts the gateway with one key published. */
async function startWith(kid: string): Promise<CryptoKey> {
  const key = await issuer.rotate(kid);
  await start();
  return key;
}

const signed = (key: CryptoKey, kid: string, sub = 'alice') =>
  signToken({ sub, exp: midnight / 1000 + 86_400 }, { key, header: { alg: 'ES256', kid } });
const statusFor = async (token: string) => (await rest(gateway, 'GET', '/user/workspaces', { token })).status;
const statusOver = async (token: string) =>
  (await graphql(gateway, '{ workspaces { totalCount } }', {}, { token })).status;

/** Answers that are no key set; the last one would be if it were not so large. */
const nonsense: [what: string, text: string][] = [
  ['is not JSON', '<html>Bad gateway</html>'],
  ['is empty', ''],
  ['is another JSON', '"keys"'],
  ['has no keys', '{}'],
  ['has keys that are no list', '{"keys":null}'],
  ['has keys that are no objects', '{"keys":[1]}'],
  ['is larger than 1 MiB', `{"keys":[]${' '.repeat(1_048_576)}}`],
];

test.each(nonsense)('while the answer %s the keys that were fetched go on holding', async (_what, text) => {
  const key = await startWith('one');
  await statusFor(await signed(key, 'one'));
  issuer.respondWith(text);
  at(3600);

  expect(await statusFor(await signed(key, 'one'))).toBe(200);
  expect(issuer.requests()).toBe(2);
});

test.each(nonsense)('a first answer that %s is an internal error, and is got over', async (_what, text) => {
  issuer.respondWith(text);
  await start();
  expect(await statusFor(await signToken({ sub: 'alice' }))).toBe(500);

  const key = await issuer.rotate('one');
  at(6);
  expect(await statusFor(await signed(key, 'one'))).toBe(200);
});

test('nobody waits while the set is fetched anew in the background', async () => {
  const token = await signed(await startWith('one'), 'one');
  await statusFor(token);
  const release = issuer.holdReplies();
  at(40);

  expect(await statusFor(token)).toBe(200);
  await eventually(() => expect(issuer.requests()).toBe(2));
  release();
});

test('nobody waits for an address that failed of late and now does not answer at all', async () => {
  const key = await startWith('one');
  await statusFor(await signed(key, 'one'));
  issuer.fail();
  at(40);
  await statusFor(await signed(key, 'one', 'bob'));
  await eventually(() => expect(issuer.requests()).toBe(2));
  // An unknown key waits for the fetch that is under way: the failure has arrived when it is refused.
  expect(await statusFor(await signed(key, 'unknown'))).toBe(401);
  const release = issuer.holdReplies();

  for (const seconds of [60, 70, 80]) {
    at(seconds);
    const asked = performance.now();
    expect(await statusFor(await signed(key, 'one', `at ${seconds}`))).toBe(200);
    expect(performance.now() - asked).toBeLessThan(2500);
  }
  release();
});

test('of many tokens with a new key at once all are served, with one fetch', async () => {
  const old = await startWith('one');
  await statusFor(await signed(old, 'one'));
  const key = await issuer.rotate('two');
  at(10);
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, index) => signed(key, 'two', `user-${index}`)),
  );

  const statuses = await Promise.all(tokens.flatMap((token) => [statusFor(token), statusOver(token)]));

  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(issuer.requests()).toBe(2);
});

test('unknown keys at once and one after the other cost one fetch in 5 s, whoever asks', async () => {
  const key = await startWith('one');
  await statusFor(await signed(key, 'one'));

  for (const seconds of [6, 8, 10.9, 12]) {
    at(seconds);
    const tokens = await Promise.all(
      Array.from({ length: 8 }, (_, index) => signed(key, `unknown-${index}`)),
    );
    const statuses = await Promise.all(tokens.flatMap((token) => [statusFor(token), statusOver(token)]));
    expect(new Set(statuses)).toEqual(new Set([401]));
  }
  expect(issuer.requests()).toBe(3);
});

test.each<[when: string, seconds: number[]]>([
  ['not used meanwhile', []],
  ['used just before the set is stale', [49.9]],
  ['used a few times', [9, 19, 29, 49.9, 59]],
  ['used all the time', Array.from({ length: 59 }, (_, index) => index + 1)],
])('a key that left the set is out of use 60 s later: %s', async (_when, seconds) => {
  const token = await signed(await startWith('one'), 'one');
  expect(await statusFor(token)).toBe(200);
  await issuer.rotate('two');

  for (const second of seconds) {
    at(second);
    await statusFor(token);
  }
  at(60);
  expect(await statusFor(token)).toBe(401);
});

test('a set whose keys are all gone is the issuer’s word: they are out of use', async () => {
  const token = await signed(await startWith('one'), 'one');
  expect(await statusFor(token)).toBe(200);
  issuer.respondWith('{"keys":[]}');
  at(60);

  expect(await statusFor(token)).toBe(401);
});

test('a token that was just taken is not taken past its expiry and the clock tolerance', async () => {
  const key = await startWith('one');
  const token = await signToken(
    { sub: 'alice', exp: midnight / 1000 + 3 },
    { key, header: { alg: 'ES256', kid: 'one' } },
  );
  expect(await statusFor(token)).toBe(200);
  at(8.5);

  expect(await statusFor(token)).toBe(401);
});
