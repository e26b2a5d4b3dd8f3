import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTokenCache, hasRepeatedMembers } from '../../src/auth/authenticate.ts';
import { anonymous, type Viewer } from '../../src/auth/viewer.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const setClock = (seconds: number) => vi.setSystemTime(start + seconds * 1000);

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: start }));
afterEach(() => void vi.useRealTimers());

/** Creates a cache whose verification accepts every token and records it. */
function createCountingCache(expiresIn = 3600) {
  const verified: string[] = [];
  const { verify } = createTokenCache(async (token): Promise<Viewer> => {
    verified.push(token);
    return { ...anonymous, userId: token, expiresAt: start + expiresIn * 1000 };
  });
  return { verify, verified };
}

test.each<[when: string, expiresIn: number, uses: number[], verifications: number]>([
  ['once within 10 s', 3600, [0, 1, 9.999], 1],
  ['again after 10 s, however often it was used', 3600, [0, 4, 8, 10], 2],
  ['again after its expiry', 3, [0, 2.999, 3], 2],
  ['each time within the clock tolerance after its expiry', -2, [0, 0], 2],
])('a token is verified %s', async (_when, expiresIn, uses, verifications) => {
  const { verify, verified } = createCountingCache(expiresIn);
  for (const seconds of uses) {
    setClock(seconds);
    expect((await verify('alice')).userId).toBe('alice');
  }
  expect(verified).toHaveLength(verifications);
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

/** Text with the characters that have a meaning in JSON. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',', 'a', '\n', '\u2028') }),
);
const { value: anyJson } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4 }),
  ),
}));
const indent = fc.constantFrom('', '\t', '  ', '\n');

test('never reports valid JSON with unique members', () => {
  fc.assert(
    fc.property(anyJson, indent, (value, space) => {
      expect(hasRepeatedMembers(JSON.stringify(value, null, space))).toBe(false);
    }),
    { numRuns: 500, examples: [[{ toString: 1, ['__proto__']: 2, 'a":1,"a': '{"a":1,"a":2}' }, '']] },
  );
});

test('detects a repeated member at any position and in any spelling', () => {
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const spell = (name: string) => `"${name.split('').map(escapeUnit).join('')}"`;
  fc.assert(
    fc.property(text, anyJson, anyJson, anyJson, indent, (name, first, between, second, space) => {
      const [a, b, c] = [first, between, second].map((value) => JSON.stringify(value, null, space));
      const json = `[${b},{${JSON.stringify(name)}${space}:${a},${JSON.stringify(`${name}x`)}:${b},${spell(name)}:${c}}]`;
      expect(hasRepeatedMembers(json)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
