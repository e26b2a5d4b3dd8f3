import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isId, isStorableText, isUuid } from '../../src/values/text.ts';

test.each<[what: string, text: string, isValid: boolean]>([
  ['an empty string', '', false],
  ['one character', 'a', true],
  ['a space', ' ', true],
  ['255 characters', 'a'.repeat(255), true],
  ['256 characters', 'a'.repeat(256), false],
  ['255 characters of two code units', '\u{1F600}'.repeat(255), true],
  ['256 characters of two code units', '\u{1F600}'.repeat(256), false],
  ['U+0000', 'a\0', false],
  ['a line feed at the end', 'a\n', false],
  ['a tab', 'a\tb', false],
  ['DEL', '\u007f', false],
  ['a C1 control character', '\u0085', false],
  ['a line separator, which is not a control character', '\u2028', true],
  ['a zero-width joiner, which is not a control character', '\u200d', true],
  ['a lone high surrogate', 'a\ud83d', false],
  ['a lone low surrogate', '\ude00a', false],
  ['the last code point', '\u{10FFFF}', true],
])('validates %s as an ID (case %#)', (_what, text, isValid) => {
  expect(isId(text)).toBe(isValid);
});

test.each<[what: string, text: string, isValid: boolean]>([
  ['an empty string', '', true],
  ['control characters other than U+0000', '\u0001\n\t\u007f\u0085', true],
  ['U+0000', 'a\0b', false],
  ['a surrogate pair', '\ud83d\ude00', true],
  ['a lone high surrogate', 'a\ud83d', false],
  ['surrogates in the wrong order', '\ude00\ud83d', false],
])('validates %s as storable text', (_what, text, isValid) => {
  expect(isStorableText(text)).toBe(isValid);
});

const character = fc.constantFrom('a', ' ', '\n', '\0', '\u{1F600}', '\ud83d', '\ude00');

test('every ID is storable text', () => {
  fc.assert(
    fc.property(fc.string({ unit: character }), (text) => {
      if (isId(text)) expect(isStorableText(text)).toBe(true);
    }),
  );
});

test('accepts UUIDs of any version in upper or lower case, and nothing else', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      expect([isUuid(uuid), isUuid(uuid.toUpperCase())]).toEqual([true, true]);
      expect([isUuid(`${uuid}0`), isUuid(uuid.slice(1)), isUuid(uuid.replaceAll('-', ''))]).toEqual([
        false,
        false,
        false,
      ]);
    }),
  );
  expect(isUuid('00000000-0000-0000-0000-000000000000')).toBe(true);
  expect(isUuid(`{${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}}`)).toBe(false);
});
