import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import { decodeCursor, encodeCursor } from '../values/cursor.ts';
import type { Revisions } from './revisions.ts';

/** The last change of a user's notifications that a client has received: a revision within an epoch. */
export type EventCursor = { epoch: string; revision: number };

/** The epoch in a cursor, as `currentEpoch` selects it; empty if the user had no revisions. */
export const cursorEpoch = z.string().regex(/^[\da-f.-]*$/);

const Content = z.tuple([cursorEpoch, z.int().min(0)]);

/** Formats an event cursor as a string that is opaque to clients. */
export function formatEventCursor({ epoch, revision }: EventCursor): string {
  return encodeCursor([epoch, revision]);
}

/**
 * Parses the event cursor of an argument at a path.
 * @throws {ValidationError} if it is not an event cursor
 */
export function parseEventCursor(cursor: string, path: readonly string[]): EventCursor {
  const content = decodeCursor(Content, cursor);
  if (content === undefined) {
    throw new ValidationError([{ path, message: 'must be an event cursor', value: cursor }]);
  }
  const [epoch, revision] = content;
  return { epoch, revision };
}

/** Returns the cursor of the latest change of a user's notifications. */
export function getLatestCursor(revisions: Revisions | undefined): EventCursor {
  if (revisions === undefined) return { epoch: '', revision: 0 };
  return { epoch: revisions.epoch, revision: revisions.notifications };
}

/** Returns the revision of a cursor; 0, the beginning, if it is from another epoch or ahead of the latest change. */
export function resolveRevision(cursor: EventCursor, revisions: Revisions | undefined): number {
  const latest = getLatestCursor(revisions);
  return cursor.epoch === latest.epoch && cursor.revision <= latest.revision ? cursor.revision : 0;
}
