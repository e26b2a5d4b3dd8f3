import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readSystemErrorCode } from '../errors/system-error-code.ts';

/**
 * Sends a reply in parts, as fast as the client reads it. Between parts, other requests run. If a part cannot be
 * created, the connection is closed before the end of the reply.
 */
export async function sendParts(
  response: ServerResponse,
  status: number,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  response.writeHead(status);
  async function* inTurns() {
    for await (const part of parts) {
      yield part;
      await nextTurn();
    }
  }
  try {
    await pipeline(inTurns, response);
  } catch (error) {
    // The client has disconnected.
    if (readSystemErrorCode(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** The minimum length of a part, in characters. */
const PART_LENGTH = 65_536;

/** How deep objects and arrays are divided. */
const DIVIDED_LEVELS = 6;

/** How deep objects are created for the reply, so that nothing else refers to them. */
const OWNED_LEVELS = 3;

/**
 * Formats JSON in parts, which are larger only if a value at a deep level is. Removes what it has formatted from the
 * outer objects, so that its memory can be freed.
 */
export function* formatJson(value: object): Generator<string> {
  let part = '';
  for (const text of formatValue(value, DIVIDED_LEVELS)) {
    part += text;
    if (part.length < PART_LENGTH) continue;
    yield part;
    part = '';
  }
  yield part;
}

function* formatValue(value: unknown, levels: number): Generator<string> {
  if (levels === 0 || typeof value !== 'object' || value === null) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  const isArray = Array.isArray(value);
  let separator = isArray ? '[' : '{';
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined && !isArray) continue;
    yield isArray ? separator : `${separator}${JSON.stringify(key)}:`;
    yield* formatValue(item, levels - 1);
    if (levels > DIVIDED_LEVELS - OWNED_LEVELS) Reflect.set(value, key, undefined);
    separator = ',';
  }
  if (separator !== ',') yield separator;
  yield isArray ? ']' : '}';
}
