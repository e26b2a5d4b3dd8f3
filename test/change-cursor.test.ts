import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ValidationError } from '../src/errors.ts';
import { cursorOf, readCursor, revisionOf, writeCursor } from '../src/revisions/change-cursor.ts';
import { timeOf } from '../src/time.ts';

const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const cursors = fc.record({ startedAt: number, revision: number });

/** A user's row. */
const state = (startedAt: number, notifications: number) => ({
  userId: 'alice',
  startedAt: timeOf(new Date(startedAt)),
  notifications,
  workspaces: 0,
});

test('every cursor is read as it was written', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      expect(readCursor(writeCursor(cursor), [])).toEqual(cursor);
    }),
  );
});

test('a cursor holds only what an address may', () => {
  fc.assert(
    fc.property(cursors, (cursor) => {
      expect(writeCursor(cursor)).toMatch(/^[\w-]+$/);
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
  cursors.map((cursor) => `${writeCursor(cursor)}=`),
  cursors.map((cursor) => ` ${writeCursor(cursor)}`),
);

test('whatever else is given is a fault at its argument, or was written as a cursor', () => {
  fc.assert(
    fc.property(texts, (text) => {
      try {
        expect(writeCursor(readCursor(text, ['after']))).toBe(text);
      } catch (error) {
        expect(error).toBeInstanceOf(ValidationError);
        expect(error).toMatchObject({ faults: [{ path: ['after'], value: text }] });
      }
    }),
  );
});

test.each([
  ['of the same life', 1000, 7, 7],
  ['of the same life, at its newest', 1000, 9, 9],
  ['of another life of the user', 999, 7, 0],
  ['from before the user had anything', 0, 0, 0],
  ['ahead of all that happened', 1000, 10, 0],
])('a cursor %s stands for the revision that it has seen', (_what, startedAt, revision, expected) => {
  expect(revisionOf({ startedAt, revision }, state(1000, 9))).toBe(expected);
});

test('without any change the present is the beginning', () => {
  expect(cursorOf(undefined)).toEqual({ startedAt: 0, revision: 0 });
  expect(revisionOf({ startedAt: 1000, revision: 7 }, undefined)).toBe(0);
  expect(cursorOf(state(1000, 9))).toEqual({ startedAt: 1000, revision: 9 });
});
