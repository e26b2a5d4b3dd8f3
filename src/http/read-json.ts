import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { BadRequestError } from '../errors/gateway-errors.ts';
import { formatLocation, type Path } from '../errors/issue.ts';

/** Counted after decompression. */
const MAX_BODY_BYTES = 1_048_576;
const TOO_LARGE = `is larger than ${MAX_BODY_BYTES} bytes`;

/** Deeper than real requests, and far below the depth at which serializing overflows the stack. */
const MAX_DEPTH = 256;

const readRaw = express.raw({ type: () => true, limit: MAX_BODY_BYTES });

/**
 * Reads the body of a request and parses it as JSON (RFC 8259).
 * @throws {BadRequestError} if its content type, charset or encoding is not supported, or it is too large, empty, not
 *   UTF-8, not JSON or nested too deeply
 */
export async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  checkContentType(request.headers['content-type']);
  // For a compressed body, Express would first read all of it.
  if (Number(request.headers['content-length']) > MAX_BODY_BYTES) throw badBody(TOO_LARGE);
  const bytes = await readBytes(request, response);
  if (bytes.length === 0) throw badBody('is empty');
  return parseJson(decode(bytes), ['body']);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw badBody('is not UTF-8');
  }
}

/**
 * Parses JSON at a path of the request.
 * @throws {BadRequestError} if it is not JSON or nested too deeply
 */
export function parseJson(text: string, path: Path): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest(path, 'is not JSON');
  }
  // Every level takes two characters.
  if (text.length > 2 * MAX_DEPTH && isTooDeep(value))
    throw badRequest(path, `is nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

function isTooDeep(value: unknown): boolean {
  let level = [value].filter(isObject);
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    level = level.flatMap((item) => Object.values(item)).filter(isObject);
  }
  return level.length > 0;
}

/** Whether a value is an object or an array. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function checkContentType(contentType: string | undefined): void {
  const [type, ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') throw badBody('must be sent with Content-Type: application/json');
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw badBody('must be encoded in UTF-8');
}

/** Reads a body, decompressed and limited in size. */
async function readBytes(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown) => {
      if (error !== undefined) reject(badBody(describeReason(error)));
      else resolve('body' in request && request.body instanceof Buffer ? request.body : Buffer.alloc(0));
    };
    readRaw(request, response, done);
  });
}

function describeReason(error: unknown): string {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
  switch (type) {
    case 'entity.too.large':
      return TOO_LARGE;
    case 'encoding.unsupported':
      return 'has an unsupported Content-Encoding';
    default:
      return 'cannot be read';
  }
}

function badBody(message: string): BadRequestError {
  return badRequest(['body'], message);
}

function badRequest(path: Path, message: string): BadRequestError {
  return new BadRequestError(`The ${formatLocation(path)} ${message}.`, [{ path, message, value: null }]);
}
