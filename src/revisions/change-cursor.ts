import { z } from 'zod';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { ValidationError } from '../errors.ts';
import { millisecondsOf } from '../time.ts';
import type { UserRevision } from './user-revision.entity.ts';

/** How far somebody has seen a user's changes. */
export type ChangeCursor = { startedAt: number; revision: number };

const Content = z.tuple([z.int().min(0), z.int().min(0)]);

/** Opaque to clients. */
export function writeCursor({ startedAt, revision }: ChangeCursor): string {
  return encodeCursor([startedAt, revision]);
}

/**
 * Reads a cursor that an argument holds.
 * @throws {ValidationError} where it is none
 */
export function readCursor(cursor: string, path: readonly string[]): ChangeCursor {
  const content = decodeCursor(Content, cursor);
  if (content === undefined) {
    throw new ValidationError([{ path, message: 'is not a cursor of changes', value: cursor }]);
  }
  const [startedAt, revision] = content;
  return { startedAt, revision };
}

/** The cursor of everything that happened to a user's notifications so far. */
export function cursorOf(state: UserRevision | undefined): ChangeCursor {
  if (state === undefined) return { startedAt: 0, revision: 0 };
  return { startedAt: millisecondsOf(state.startedAt), revision: state.notifications };
}

/**
 * The revision that a cursor stands for. One of another life of the user has seen nothing of this one, nor has one
 * that is ahead of it, as after a backup was restored.
 */
export function revisionOf(cursor: ChangeCursor, state: UserRevision | undefined): number {
  const reached = cursorOf(state);
  return cursor.startedAt === reached.startedAt && cursor.revision <= reached.revision ? cursor.revision : 0;
}
