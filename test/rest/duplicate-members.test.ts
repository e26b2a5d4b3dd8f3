import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasRepeatedMembers } from '../../src/auth/authenticate.ts';

test.each([
  '{"sub":"a","sub":"b"}',
  '{"sub":"a","sub":"a"}',
  '{"sub":1,"exp":2,"sub":3}',
  '{"a":{"b":1,"b":2}}',
  '{"a":[{"b":1},{"b":1,"b":2}]}',
  '[[{"":0,"":1}]]',
  '{"sub":"a","s\\u0075b":"b"}',
  '{"\\u002f":1,"/":2,"\\/":3}',
  '{ "sub" : 1 ,\n\t"sub"\r\n : 2 }',
  '{"a":"}","a":"{"}',
  '{"a":"\\\\","a":1}',
  '{"a":"\\"","a":1}',
  '{"__proto__":1,"__proto__":2}',
  '{"constructor":{},"constructor":[]}',
  '{"a":{"a":{}},"a":1}',
])('detects a repeated member: %s', (json) => {
  expect(() => JSON.parse(json)).not.toThrow();
  expect(hasRepeatedMembers(json)).toBe(true);
});

test.each([
  '{}',
  '[]',
  '7',
  '"sub"',
  '{"a":{"a":{"a":1}}}',
  '[{"a":1},{"a":1}]',
  '{"a":["a","a"],"b":"a"}',
  '{"sub":"sub","\\"sub":1}',
  '{"a":"\\"a\\":1,\\"a\\":2"}',
  '{"a":"{","b":"\\\\"}',
  '{"toString":1,"__proto__":2,"hasOwnProperty":3}',
  '{"a":1,"A":2,"a ":3}',
  '{"\u00e9":1,"e\u0301":2}',
])('accepts unique members: %s', (json) => {
  expect(() => JSON.parse(json)).not.toThrow();
  expect(hasRepeatedMembers(json)).toBe(false);
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
  const spell = (name: string) =>
    `"${[...Array(name.length).keys()].map((index) => `\\u${name.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')}"`;
  fc.assert(
    fc.property(text, anyJson, anyJson, anyJson, indent, (name, first, between, second, space) => {
      const [a, b, c] = [first, between, second].map((value) => JSON.stringify(value, null, space));
      const json = `[${b},{${JSON.stringify(name)}${space}:${a},${JSON.stringify(`${name}x`)}:${b},${spell(name)}:${c}}]`;
      expect(hasRepeatedMembers(json)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
