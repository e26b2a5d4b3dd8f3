import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { type Time, timeAt, toMilliseconds } from './time.ts';

/**
 * The position of a record in a list that is sorted by `createdAt`, then `id`, newest first. A list across users is
 * sorted by `createdAt`, `userId`, `id`.
 */
export type Position = { createdAt: Time; id: string; userId?: string };

/** Encodes a cursor, which is opaque to clients. */
export function encodeCursor(content: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** Decodes a cursor; undefined unless {@link encodeCursor} created it from content of this shape. */
export function decodeCursor<Content extends readonly (string | number)[]>(
  shape: z.ZodType<Content>,
  cursor: string,
): Content | undefined {
  try {
    const content = shape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return encodeCursor(content) === cursor ? content : undefined;
  } catch {
    return undefined;
  }
}

const PositionContent = z.union([z.tuple([z.int(), z.string()]), z.tuple([z.int(), z.string(), z.string()])]);

/** Formats the cursor of a record. The user's ID is given for a list across users. */
export function formatPosition({ createdAt, id, userId }: Position): string {
  return encodeCursor([toMilliseconds(createdAt), id, ...(userId === undefined ? [] : [userId])]);
}

/** Parses a cursor of {@link formatPosition}; undefined for any other string. */
export function parsePosition(cursor: string): Position | undefined {
  const [milliseconds = Number.NaN, id = '', userId] = decodeCursor(PositionContent, cursor) ?? [];
  const createdAt = timeAt(milliseconds);
  return createdAt && { createdAt, id, ...(userId !== undefined && { userId }) };
}
