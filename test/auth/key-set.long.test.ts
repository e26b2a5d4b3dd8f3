import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { signToken } from '../support/tokens.ts';
import { setClock, sign, useIssuer } from './use-issuer.ts';

const at = useIssuer();
const { request, startWith, readiness, messages } = at;

/** Replies that are not a valid key set; the last one is only too large. */
test.each([
  ['is not JSON', '<html>Bad gateway</html>'],
  ['has no keys', '{}'],
  ['has keys that are not objects', '{"keys":[1]}'],
  ['is larger than 1 MiB', `{"keys":[]${' '.repeat(1_048_576)}}`],
])(
  "if the issuer's reply %s, keeps using fetched keys, or returns 500 until the reply is valid",
  async (_what, text) => {
    at.issuer.respondWith(text);
    await at.start();
    expect(await request(await signToken({ sub: 'alice' }))).toBe(500);

    const key = await at.issuer.rotate('one');
    setClock(6);
    expect(await request(await sign(key, 'one'))).toBe(200);

    at.issuer.respondWith(text);
    const requests = at.issuer.requests();
    setClock(3600);
    expect(await request(await sign(key, 'one'))).toBe(200);
    expect(at.issuer.requests()).toBe(requests + 1);
  },
);

test('tokens cause at most one fetch in 5 s while no key set could be fetched', async () => {
  at.issuer.fail();
  await at.start();
  const token = await signToken({ sub: 'alice' });
  for (const seconds of [0, 1, 2, 3, 4.9]) {
    setClock(seconds);
    expect(await request(token)).toBe(500);
  }
  expect(at.issuer.requests()).toBe(1);
});

test('requests do not wait while the key set is refreshed in the background', async () => {
  const token = await sign(await startWith('one'), 'one');
  await request(token);
  const release = at.issuer.holdReplies();
  setClock(40);
  expect(await request(token)).toBe(200);
  await eventually(() => expect(at.issuer.requests()).toBe(2));
  release();
});

test('requests do not wait for an issuer that failed recently and no longer replies', async () => {
  const key = await startWith('one');
  await request(await sign(key, 'one'));
  at.issuer.fail();
  setClock(40);
  await request(await sign(key, 'one', 'bob'));
  await eventually(() => expect(at.issuer.requests()).toBe(2));
  // An unknown key waits for the fetch in progress, so the failure has been recorded when it is rejected.
  expect(await request(await sign(key, 'unknown'))).toBe(401);
  const release = at.issuer.holdReplies();

  for (const seconds of [60, 70, 80]) {
    setClock(seconds);
    const asked = performance.now();
    expect(await request(await sign(key, 'one', `user ${seconds}`))).toBe(200);
    expect(performance.now() - asked).toBeLessThan(2500);
  }
  release();
});

test('verifies concurrent tokens with a new key after a single fetch', async () => {
  await request(await sign(await startWith('one'), 'one'));
  const key = await at.issuer.rotate('two');
  setClock(10);
  const requests = Array.from({ length: 20 }, async (_none, n) =>
    request(await sign(key, 'two', `user-${n}`)),
  );
  expect(new Set(await Promise.all(requests))).toEqual(new Set([200]));
  expect(at.issuer.requests()).toBe(2);
});

test.each([
  ['replies', false],
  ['fails', true],
])(
  'unknown keys cause at most one fetch in 5 s, concurrent or sequential: the issuer %s',
  async (_what, isDown) => {
    const key = await startWith('one');
    await request(await sign(key, 'one'));
    if (isDown) at.issuer.fail();

    for (const seconds of [6, 8, 10.9, 12]) {
      setClock(seconds);
      const requests = Array.from({ length: 8 }, async (_none, n) =>
        request(await sign(key, `unknown-${n}`)),
      );
      expect(new Set(await Promise.all(requests))).toEqual(new Set([401]));
    }
    expect(at.issuer.requests()).toBe(3);
  },
);

const rotate = () => at.issuer.rotate('two');
const empty = async () => at.issuer.respondWith('{"keys":[]}');

test.each<[when: string, remove: () => Promise<unknown>, uses: number[]]>([
  ['with all others, and not used in between', empty, []],
  ['by a rotation, and used just before the key set expires', rotate, [49.9]],
  ['by a rotation, and used continuously', rotate, Array.from({ length: 59 }, (_, index) => index + 1)],
])('rejects a key after 60 s that was removed %s', async (_when, remove, uses) => {
  const token = await sign(await startWith('one'), 'one');
  expect(await request(token)).toBe(200);
  await remove();

  for (const seconds of uses) {
    setClock(seconds);
    await request(token);
  }
  setClock(60);
  expect(await request(token)).toBe(401);
});

const NOT_READY =
  'fetching the key set from AUTH_JWKS_URL failed; the gateway is not ready until it succeeds';

test('a gateway is not ready until the key set was fetched, logs it, and retries', async () => {
  at.issuer.fail();
  await at.start();
  await eventually(() => expect(messages()).toContain(NOT_READY));
  expect(await readiness()).toEqual([503, 'was never fetched']);
  expect((await fetch(`${at.gateway.address}/healthz`)).status).toBe(200);

  at.issuer.recover();
  setClock(6);
  await eventually(async () => expect(await readiness()).toEqual([200, 'ok']));
  expect(messages()).toContain('fetched the key set from AUTH_JWKS_URL');
});

test('without traffic, the key set stays current; each outage of the issuer is logged once', async () => {
  await at.start();
  await eventually(async () => expect(await readiness()).toEqual([200, 'ok']));
  at.issuer.fail();
  setClock(26);
  const failed = 'fetching the key set from AUTH_JWKS_URL failed; the last keys are used until it succeeds';
  await eventually(() => expect(messages()).toContain(failed));
  const requests = at.issuer.requests();
  setClock(32);
  await eventually(() => expect(at.issuer.requests()).toBeGreaterThan(requests));
  expect(await readiness()).toEqual([200, 'ok']);

  at.issuer.recover();
  setClock(38);
  await eventually(() => expect(messages()).toContain('fetched the key set from AUTH_JWKS_URL'));
  expect(messages().filter((message) => message === failed)).toHaveLength(1);
});

test('a key set with shared secrets only is reported in one line, without them', async () => {
  at.issuer.respondWith('{"keys":[{"kty":"oct","k":"c2VjcmV0LXdvcmQ"}]}');
  await at.start();
  await eventually(() => expect(messages()).toContain(NOT_READY));
  const line = at.gateway.logLines().find((text) => text.includes(NOT_READY)) ?? '';
  expect(JSON.parse(line).err.message).toMatch(
    /^The key set at AUTH_JWKS_URL contains no public key .*shared secret/,
  );
  expect(line).not.toContain('c2VjcmV0LXdvcmQ');
  expect(await readiness()).toEqual([503, 'was never fetched']);
});
