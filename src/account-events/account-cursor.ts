import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { Revisions } from '../revisions/revisions.ts';
import { decodeCursor, encodeCursor } from '../values/cursor.ts';

/** The types of events that a stream of an account can deliver, in the order of their revisions in a cursor. */
export const accountEventTypes = ['notifications', 'counts', 'workspaces', 'editorAuth'] as const;
export type AccountEventType = (typeof accountEventTypes)[number];

/**
 * The last changes that a client has received: a revision of each type, within an epoch. The epoch is empty if the user
 * had no revisions.
 */
export type AccountCursor = {
  readonly epoch: string;
  readonly seen: Readonly<Record<AccountEventType, number>>;
};

const Revision = z.int().min(0);
const Content = z.tuple([z.string(), Revision, Revision, Revision, Revision]);

/** Formats a cursor as a string that is opaque to clients. */
export function formatAccountCursor({ epoch, seen }: AccountCursor): string {
  return encodeCursor([epoch, ...accountEventTypes.map((type) => seen[type])]);
}

/**
 * Parses the cursor of the argument `after`.
 * @throws {ValidationError} if it is not a cursor of `accountEvents`
 */
export function parseAccountCursor(cursor: string): AccountCursor {
  const content = decodeCursor(Content, cursor);
  if (content === undefined) {
    const message = 'must be a cursor of `accountEvents`';
    throw new ValidationError([{ path: ['after'], message, value: cursor }]);
  }
  const [epoch, notifications, counts, workspaces, editorAuth] = content;
  return { epoch, seen: { notifications, counts, workspaces, editorAuth } };
}

/** Returns the cursor of a user's latest changes. */
export function getLatestAccountCursor(revisions: Revisions | undefined): AccountCursor {
  const { epoch = '', notifications = 0, workspaces = 0, editorAuth = 0 } = revisions ?? {};
  return { epoch, seen: { notifications, counts: notifications, workspaces, editorAuth } };
}

/**
 * Returns whether a stream can continue after a cursor: it is of the current epoch, or of the time before the user's
 * first change, and not ahead of the latest changes.
 */
export function canResume({ epoch, seen }: AccountCursor, latest: AccountCursor): boolean {
  const isOfEpoch = epoch === latest.epoch || epoch === '';
  return isOfEpoch && accountEventTypes.every((type) => seen[type] <= latest.seen[type]);
}
