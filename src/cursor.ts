import { Buffer } from 'node:buffer';
import type { z } from 'zod';

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
