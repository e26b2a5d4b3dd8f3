import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { type Time, timeAt, toMilliseconds } from './time.ts';

/** The position of a record in a list that is sorted by `createdAt`, then `id`, newest first. */
export type Position = { createdAt: Time; id: string };

/** Writes a cursor: opaque to clients, so that what it holds may change. */
export function encodeCursor(content: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** What a cursor holds; undefined for any text that {@link encodeCursor} did not write with content of this shape. */
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

const PositionContent = z.tuple([z.int(), z.string()]);

/** Writes the cursor of a record: its position, so that a page is found without counting. */
export function formatPosition({ createdAt, id }: Position): string {
  return encodeCursor([toMilliseconds(createdAt), id]);
}

/** The position that a cursor of {@link formatPosition} stands for; undefined for any other text. */
export function parsePosition(cursor: string): Position | undefined {
  const [milliseconds = Number.NaN, id = ''] = decodeCursor(PositionContent, cursor) ?? [];
  const createdAt = timeAt(milliseconds);
  return createdAt && { createdAt, id };
}
