import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { signToken } from '../support/tokens.ts';

const midnight = Date.parse('2026-01-01T00:00:00Z');
const setClock = (seconds: number) => vi.setSystemTime(midnight + seconds * 1000);

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

/** Starts the gateway, which fetches the key set immediately. */
async function start(): Promise<void> {
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url }, database);
}

/** Starts the gateway with one published key. */
async function startWith(kid: string): Promise<CryptoKey> {
  const key = await issuer.rotate(kid);
  await start();
  return key;
}

const sign = (key: CryptoKey, kid: string, sub = 'alice') =>
  signToken({ sub, exp: midnight / 1000 + 86_400 }, { key, header: { alg: 'ES256', kid } });
const requestOverRest = async (token: string) =>
  (await rest(gateway, 'GET', '/user/workspaces', { token })).status;
const requestOverGraphQL = async (token: string) =>
  (await graphql(gateway, '{ workspaces { totalCount } }', {}, { token })).status;

/** Replies that are not a valid key set; the last one is only too large. */
const invalidReplies: [what: string, text: string][] = [
  ['is not JSON', '<html>Bad gateway</html>'],
  ['is empty', ''],
  ['is JSON of another type', '"keys"'],
  ['has no keys', '{}'],
  ['has keys that are not an array', '{"keys":null}'],
  ['has keys that are not objects', '{"keys":[1]}'],
  ['is larger than 1 MiB', `{"keys":[]${' '.repeat(1_048_576)}}`],
];

test.each(invalidReplies)("keeps using the fetched keys if the issuer's reply %s", async (_what, text) => {
  const key = await startWith('one');
  await requestOverRest(await sign(key, 'one'));
  issuer.respondWith(text);
  setClock(3600);

  expect(await requestOverRest(await sign(key, 'one'))).toBe(200);
  expect(issuer.requests()).toBe(2);
});

test.each(invalidReplies)(
  "returns 500 if the issuer's first reply %s, and recovers when it is valid",
  async (_what, text) => {
    issuer.respondWith(text);
    await start();
    expect(await requestOverRest(await signToken({ sub: 'alice' }))).toBe(500);

    const key = await issuer.rotate('one');
    setClock(6);
    expect(await requestOverRest(await sign(key, 'one'))).toBe(200);
  },
);

test('tokens cause at most one fetch in 5 s while no key set could be fetched', async () => {
  issuer.fail();
  await start();
  const token = await signToken({ sub: 'alice' });

  for (const seconds of [0, 1, 2, 3, 4.9]) {
    setClock(seconds);
    expect(await requestOverRest(token)).toBe(500);
  }
  expect(issuer.requests()).toBe(1);
});

test('requests do not wait while the key set is refreshed in the background', async () => {
  const token = await sign(await startWith('one'), 'one');
  await requestOverRest(token);
  const release = issuer.holdReplies();
  setClock(40);

  expect(await requestOverRest(token)).toBe(200);
  await eventually(() => expect(issuer.requests()).toBe(2));
  release();
});

test('requests do not wait for an issuer that failed recently and no longer replies', async () => {
  const key = await startWith('one');
  await requestOverRest(await sign(key, 'one'));
  issuer.fail();
  setClock(40);
  await requestOverRest(await sign(key, 'one', 'bob'));
  await eventually(() => expect(issuer.requests()).toBe(2));
  // An unknown key waits for the fetch in progress, so the failure has been recorded when it is rejected.
  expect(await requestOverRest(await sign(key, 'unknown'))).toBe(401);
  const release = issuer.holdReplies();

  for (const seconds of [60, 70, 80]) {
    setClock(seconds);
    const asked = performance.now();
    expect(await requestOverRest(await sign(key, 'one', `setClock ${seconds}`))).toBe(200);
    expect(performance.now() - asked).toBeLessThan(2500);
  }
  release();
});

test('verifies concurrent tokens with a new key after a single fetch', async () => {
  const old = await startWith('one');
  await requestOverRest(await sign(old, 'one'));
  const key = await issuer.rotate('two');
  setClock(10);
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, index) => sign(key, 'two', `user-${index}`)),
  );

  const statuses = await Promise.all(
    tokens.flatMap((token) => [requestOverRest(token), requestOverGraphQL(token)]),
  );

  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(issuer.requests()).toBe(2);
});

test.each([
  ['replies', false],
  ['fails', true],
])(
  'unknown keys cause at most one fetch in 5 s, concurrent or sequential: the issuer %s',
  async (_what, isDown) => {
    const key = await startWith('one');
    await requestOverRest(await sign(key, 'one'));
    if (isDown) issuer.fail();

    for (const seconds of [6, 8, 10.9, 12]) {
      setClock(seconds);
      const tokens = await Promise.all(
        Array.from({ length: 8 }, (_, index) => sign(key, `unknown-${index}`)),
      );
      const statuses = await Promise.all(
        tokens.flatMap((token) => [requestOverRest(token), requestOverGraphQL(token)]),
      );
      expect(new Set(statuses)).toEqual(new Set([401]));
    }
    expect(issuer.requests()).toBe(3);
  },
);

test.each<[when: string, seconds: number[]]>([
  ['not used in between', []],
  ['used just before the key set expires', [49.9]],
  ['used a few times', [9, 19, 29, 49.9, 59]],
  ['used continuously', Array.from({ length: 59 }, (_, index) => index + 1)],
])('rejects a removed key after 60 s: %s', async (_when, seconds) => {
  const token = await sign(await startWith('one'), 'one');
  expect(await requestOverRest(token)).toBe(200);
  await issuer.rotate('two');

  for (const second of seconds) {
    setClock(second);
    await requestOverRest(token);
  }
  setClock(60);
  expect(await requestOverRest(token)).toBe(401);
});

test('an empty key set removes all keys', async () => {
  const token = await sign(await startWith('one'), 'one');
  expect(await requestOverRest(token)).toBe(200);
  issuer.respondWith('{"keys":[]}');
  setClock(60);

  expect(await requestOverRest(token)).toBe(401);
});

test('rejects a cached token after its expiry and the clock tolerance', async () => {
  const key = await startWith('one');
  const token = await signToken(
    { sub: 'alice', exp: midnight / 1000 + 3 },
    { key, header: { alg: 'ES256', kid: 'one' } },
  );
  expect(await requestOverRest(token)).toBe(200);
  setClock(8.5);

  expect(await requestOverRest(token)).toBe(401);
});
