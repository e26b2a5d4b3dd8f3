import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ValidationError } from '../src/errors/gateway-errors.ts';
import {
  formatChangeCursor,
  getLatestCursor,
  parseChangeCursor,
  resolveRevision,
} from '../src/revisions/change-cursor.ts';

const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const cursors = fc.record({
  epoch: fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  revision: number,
});

const state = (epoch: string, notifications: number) => ({
  epoch,
  notifications,
  workspaces: 0,
  editorAuth: 0,
});

test('every cursor is read as it was written', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      expect(parseChangeCursor(formatChangeCursor(cursor), [])).toEqual(cursor);
    }),
  );
});

test('a cursor holds only what an address may', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      expect(formatChangeCursor(cursor)).toMatch(/^[\w-]+$/);
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
  cursors.map((cursor) => `${formatChangeCursor(cursor)}=`),
  cursors.map((cursor) => ` ${formatChangeCursor(cursor)}`),
);

test('whatever else is given is a fault at its argument, or was written as a cursor', () => {
  fc.assert(
    fc.property(texts, (text) => {
      try {
        expect(formatChangeCursor(parseChangeCursor(text, ['after']))).toBe(text);
      } catch (error) {
        expect(error).toBeInstanceOf(ValidationError);
        expect(error).toMatchObject({ issues: [{ path: ['after'], value: text }] });
      }
    }),
  );
});

test.each([
  ['of the same epoch', 'a', 7, 7],
  ['of the same epoch, at its newest', 'a', 9, 9],
  ['of another epoch', 'b', 7, 0],
  ['from before the user had anything', '', 0, 0],
  ['ahead of all that happened', 'a', 10, 0],
])('a cursor %s stands for the revision that it has seen', (_what, epoch, revision, expected) => {
  expect(resolveRevision({ epoch, revision }, state('a', 9))).toBe(expected);
});

test('without any change the present is the beginning', () => {
  expect(getLatestCursor(undefined)).toEqual({ epoch: '', revision: 0 });
  expect(resolveRevision({ epoch: 'a', revision: 7 }, undefined)).toBe(0);
  expect(getLatestCursor(state('a', 9))).toEqual({ epoch: 'a', revision: 9 });
});

test('a cursor of the form before epochs is a fault', () => {
  const cursor = Buffer.from('[1767225600000,7]').toString('base64url');
  expect(() => parseChangeCursor(cursor, ['after'])).toThrow(ValidationError);
});
