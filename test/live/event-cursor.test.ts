import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ValidationError } from '../../src/errors/gateway-errors.ts';
import {
  formatEventCursor,
  getLatestCursor,
  parseEventCursor,
  resolveRevision,
} from '../../src/revisions/event-cursor.ts';
import { arbitraryCharacter } from '../support/arbitrary-text.ts';

const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const cursors = fc.record({
  epoch: fc.string({ unit: arbitraryCharacter }),
  revision: number,
});

const state = (epoch: string, notifications: number) => ({
  epoch,
  notifications,
  workspaces: 0,
  editorAuth: 0,
});

test('a cursor is URL-safe, and parsing it returns the original', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      const text = formatEventCursor(cursor);
      expect(text).toMatch(/^[\w-]+$/);
      expect(parseEventCursor(text, [])).toEqual(cursor);
    }),
  );
});

const texts = fc.oneof(
  fc.string(),
  fc.base64String(),
  fc.json().map((text) => Buffer.from(text).toString('base64url')),
  fc
    .array(fc.oneof(fc.double(), fc.integer()))
    .map((list) => Buffer.from(JSON.stringify(list)).toString('base64url')),
  fc.constant(Buffer.from('[1767225600000,7]').toString('base64url')),
  cursors.map((cursor) => `${formatEventCursor(cursor)}=`),
  cursors.map((cursor) => ` ${formatEventCursor(cursor)}`),
);

test('rejects everything that is not a cursor, naming the argument', () => {
  fc.assert(
    fc.property(texts, (text) => {
      try {
        expect(formatEventCursor(parseEventCursor(text, ['after']))).toBe(text);
      } catch (error) {
        expect(error).toBeInstanceOf(ValidationError);
        expect(error).toMatchObject({ issues: [{ path: ['after'], value: text }] });
      }
    }),
  );
});

test.each([
  ['of the current epoch', 'a', 7, 7],
  ['of the current epoch, at the latest revision', 'a', 9, 9],
  ['of another epoch', 'b', 7, 0],
  ['from before the user had any records', '', 0, 0],
  ['ahead of the latest revision', 'a', 10, 0],
])(
  'a cursor %s resumes at its revision, or from the start if it does not apply',
  (_what, epoch, revision, expected) => {
    expect(resolveRevision({ epoch, revision }, state('a', 9))).toBe(expected);
  },
);

test('without any change the latest cursor is the first one', () => {
  expect(getLatestCursor(undefined)).toEqual({ epoch: '', revision: 0 });
  expect(resolveRevision({ epoch: 'a', revision: 7 }, undefined)).toBe(0);
  expect(getLatestCursor(state('a', 9))).toEqual({ epoch: 'a', revision: 9 });
});
