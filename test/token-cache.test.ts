import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTokenCache } from '../src/auth/token-cache.ts';
import { anonymous, type Viewer } from '../src/auth/viewer.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => vi.setSystemTime(start + seconds * 1000);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A verification that takes every token as its user's, and counts. */
function counting(expiresIn = 3600) {
  const verified: string[] = [];
  const { verify } = createTokenCache(async (token): Promise<Viewer> => {
    verified.push(token);
    return { ...anonymous, userId: token, expiresAt: start + expiresIn * 1000 };
  });
  return { verify, verified };
}

test('a verified token is not verified again for a short time', async () => {
  const { verify, verified } = counting();

  for (const seconds of [0, 1, 9.999]) {
    at(seconds);
    expect((await verify('alice')).userId).toBe('alice');
  }
  expect(verified).toHaveLength(1);
});

test('a token is verified again 10 s after it was, however often it was used meanwhile', async () => {
  const { verify, verified } = counting();

  for (const seconds of [0, 4, 8, 10]) {
    at(seconds);
    await verify('alice');
  }
  expect(verified).toHaveLength(2);
});

test('a token is not taken from memory when it has expired', async () => {
  const { verify, verified } = counting(3);

  for (const seconds of [0, 2.999, 3]) {
    at(seconds);
    await verify('alice');
  }
  expect(verified).toHaveLength(2);
});

test('a token within the clock tolerance after its expiry is verified each time', async () => {
  const { verify, verified } = counting(-2);

  await verify('alice');
  await verify('alice');

  expect(verified).toHaveLength(2);
});

test('does not cache a rejected token', async () => {
  let isRefused = true;
  const { verify } = createTokenCache(async (): Promise<Viewer> => {
    if (isRefused) throw new Error('refused');
    return anonymous;
  });

  await expect(verify('alice')).rejects.toThrow('refused');
  isRefused = false;

  expect(await verify('alice')).toBe(anonymous);
});

test.each(['alic', 'alice ', 'Alice', 'alice\0', ''])(
  'does not confuse another token with a cached one: %j',
  async (other) => {
    const { verify } = counting();
    await verify('alice');

    expect((await verify(other)).userId).toBe(other);
  },
);

test('caches at most 10,000 tokens, and evicts the least recently used first', async () => {
  const { verify, verified } = counting();
  for (let index = 0; index < 10_000; index += 1) await verify(String(index));
  await verify('0');
  await verify('one too many');
  verified.length = 0;

  await verify('0');
  await verify('1');

  expect(verified).toEqual(['1']);
});
