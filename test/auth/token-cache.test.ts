import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTokenCache } from '../../src/auth/authenticate.ts';
import { anonymous, type Viewer } from '../../src/auth/viewer.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const setClock = (seconds: number) => vi.setSystemTime(start + seconds * 1000);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Creates a cache whose verification accepts every token and records it. */
function createCountingCache(expiresIn = 3600) {
  const verified: string[] = [];
  const { verify } = createTokenCache(async (token): Promise<Viewer> => {
    verified.push(token);
    return { ...anonymous, userId: token, expiresAt: start + expiresIn * 1000 };
  });
  return { verify, verified };
}

test('does not verify a cached token again within 10 s', async () => {
  const { verify, verified } = createCountingCache();

  for (const seconds of [0, 1, 9.999]) {
    setClock(seconds);
    expect((await verify('alice')).userId).toBe('alice');
  }
  expect(verified).toHaveLength(1);
});

test('verifies a token again after 10 s, however often it was used', async () => {
  const { verify, verified } = createCountingCache();

  for (const seconds of [0, 4, 8, 10]) {
    setClock(seconds);
    await verify('alice');
  }
  expect(verified).toHaveLength(2);
});

test('does not use a cached token after its expiry', async () => {
  const { verify, verified } = createCountingCache(3);

  for (const seconds of [0, 2.999, 3]) {
    setClock(seconds);
    await verify('alice');
  }
  expect(verified).toHaveLength(2);
});

test('verifies a token within the clock tolerance after its expiry each time', async () => {
  const { verify, verified } = createCountingCache(-2);

  await verify('alice');
  await verify('alice');

  expect(verified).toHaveLength(2);
});

test('does not cache a rejected token', async () => {
  let isRejected = true;
  const { verify } = createTokenCache(async (): Promise<Viewer> => {
    if (isRejected) throw new Error('rejected');
    return anonymous;
  });

  await expect(verify('alice')).rejects.toThrow('rejected');
  isRejected = false;

  expect(await verify('alice')).toBe(anonymous);
});

test.each(['alic', 'alice ', 'Alice', 'alice\0', ''])(
  'does not confuse another token with a cached one: %j',
  async (other) => {
    const { verify } = createCountingCache();
    await verify('alice');

    expect((await verify(other)).userId).toBe(other);
  },
);

test('caches at most 10,000 tokens, and evicts the least recently used first', async () => {
  const { verify, verified } = createCountingCache();
  for (let index = 0; index < 10_000; index += 1) await verify(String(index));
  await verify('0');
  await verify('one too many');
  verified.length = 0;

  await verify('0');
  await verify('1');

  expect(verified).toEqual(['1']);
});
