import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import { decodeCursor, encodeCursor } from '../values/cursor.ts';
import type { Revisions } from './revisions.ts';

/** How far a client has seen a user's changes: up to a revision of an epoch. */
export type ChangeCursor = { epoch: string; revision: number };

const Content = z.tuple([z.string(), z.int().min(0)]);

/** Opaque to clients. */
export function writeCursor({ epoch, revision }: ChangeCursor): string {
  return encodeCursor([epoch, revision]);
}

/**
 * Reads a cursor from an argument.
 * @throws {ValidationError} if it is not an event cursor
 */
export function readCursor(cursor: string, path: readonly string[]): ChangeCursor {
  const content = decodeCursor(Content, cursor);
  if (content === undefined) {
    throw new ValidationError([{ path, message: 'must be an event cursor', value: cursor }]);
  }
  const [epoch, revision] = content;
  return { epoch, revision };
}

/** The cursor of everything that happened to a user's notifications so far. */
export function latestCursor(state: Revisions | undefined): ChangeCursor {
  if (state === undefined) return { epoch: '', revision: 0 };
  return { epoch: state.epoch, revision: state.notifications };
}

/** The revision that a cursor stands for; 0, the beginning, if it is of another epoch. */
export function resolveRevision(cursor: ChangeCursor, state: Revisions | undefined): number {
  const reached = latestCursor(state);
  return cursor.epoch === reached.epoch && cursor.revision <= reached.revision ? cursor.revision : 0;
}
