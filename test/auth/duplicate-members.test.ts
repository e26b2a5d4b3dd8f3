import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasRepeatedMembers } from '../../src/auth/authenticate.ts';

test.each([
  ['{"sub":"a","sub":"b"}', true],
  ['{"a":[{"b":1},{"b":1,"b":2}]}', true],
  ['[[{"":0,"":1}]]', true],
  ['{"sub":"a","s\\u0075b":"b"}', true],
  ['{ "sub" : 1 ,\n\t"sub"\r\n : 2 }', true],
  ['{"a":"\\\\","a":1}', true],
  ['{"a":"\\"","a":1}', true],
  ['{"__proto__":1,"__proto__":2}', true],
  ['{"a":{"a":{}},"a":1}', true],
  ['{"a":{"a":{"a":1}}}', false],
  ['[{"a":1},{"a":1}]', false],
  ['{"sub":"sub","\\"sub":1}', false],
  ['{"a":"\\"a\\":1,\\"a\\":2"}', false],
  ['{"a":"{","b":"\\\\"}', false],
  ['{"toString":1,"__proto__":2,"hasOwnProperty":3}', false],
  ['{"a":1,"A":2,"a ":3}', false],
  ['{"\u00e9":1,"e\u0301":2}', false],
])('whether %s has a repeated member: %s', (json, expected) => {
  expect(() => JSON.parse(json)).not.toThrow();
  expect(hasRepeatedMembers(json)).toBe(expected);
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
    { numRuns: 500 },
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
