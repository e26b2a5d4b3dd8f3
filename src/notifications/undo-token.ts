import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import { decodeCursor, encodeCursor } from '../values/cursor.ts';
import { type Time, timeAt, toMilliseconds } from '../values/time.ts';

/** One dismissal of many notifications: the user's revision before it, and the time that it gave to all of them. */
export type Dismissal = { revision: number; dismissedAt: Time };

const Content = z.tuple([z.int().min(0), z.int()]);

/** Formats a dismissal as a string that is opaque to clients. */
export function formatUndoToken({ revision, dismissedAt }: Dismissal): string {
  return encodeCursor([revision, toMilliseconds(dismissedAt)]);
}

/**
 * Parses the undo token of an argument at a path.
 * @throws {ValidationError} if it is not an undo token
 */
export function parseUndoToken(token: string, path: readonly string[]): Dismissal {
  const [revision = 0, milliseconds = Number.NaN] = decodeCursor(Content, token) ?? [];
  const dismissedAt = timeAt(milliseconds);
  if (dismissedAt === undefined)
    throw new ValidationError([{ path, message: 'must be an undo token', value: token }]);
  return { revision, dismissedAt };
}
