import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readSystemErrorCode } from '../errors/failure.ts';

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

/** An object or array that is being formatted. */
type Frame = {
  readonly value: object;
  /** The names of an object's members; `undefined` for an array. */
  readonly names: readonly string[] | undefined;
  readonly size: number;
  index: number;
  /** What precedes the next member: the opening bracket, then commas. */
  separator: '[' | '{' | ',';
};

function open(value: object): Frame {
  const isArray = Array.isArray(value);
  const names = isArray ? undefined : Object.keys(value);
  const size = isArray ? value.length : (names?.length ?? 0);
  return { value, names, size, index: 0, separator: isArray ? '[' : '{' };
}

/**
 * Formats JSON in parts, which are larger only if a value at a deep level is. Removes what it has formatted from the
 * outer objects, so that its memory can be freed.
 */
export function* formatJson(value: object): Generator<string> {
  let part = '';
  const stack = [open(value)];
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const { names, size, index } = frame;
    if (index === size) {
      if (frame.separator !== ',') part += frame.separator;
      part += names === undefined ? ']' : '}';
      stack.pop();
      continue;
    }
    const name = names?.[index] ?? index;
    const item: unknown = Reflect.get(frame.value, name);
    frame.index += 1;
    if (item === undefined && names !== undefined) continue;
    part += names === undefined ? frame.separator : `${frame.separator}${JSON.stringify(name)}:`;
    frame.separator = ',';
    if (stack.length <= OWNED_LEVELS) Reflect.set(frame.value, name, undefined);
    if (typeof item === 'object' && item !== null && stack.length < DIVIDED_LEVELS) stack.push(open(item));
    else part += JSON.stringify(item) ?? 'null';
    if (part.length < PART_LENGTH) continue;
    yield part;
    part = '';
  }
  yield part;
}
