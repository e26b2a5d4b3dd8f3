import type { IncomingMessage } from 'node:http';
import { anonymous, identifyCaller, type Viewer } from '../auth/viewer.ts';
import { BadRequestError } from '../errors/gateway-errors.ts';
import { formatLocation, type Path } from '../errors/issue.ts';
import { type BodyLimits, createBodyError, type ReadBody } from './read-body.ts';

/** The limits of bodies in JSON. */
function findLimits(viewer: Viewer): BodyLimits {
  const caller = identifyCaller(viewer);
  return viewer === anonymous
    ? { caller, maxBytes: 16_384, maxCallerBytes: 8 * 1_048_576, allowsCompression: false }
    : { caller, maxBytes: 1_048_576, maxCallerBytes: 2 * 1_048_576, allowsCompression: true };
}

/** Deeper than real requests, and far below the depth at which serializing overflows the stack. */
const MAX_DEPTH = 256;

/**
 * Reads the body of a request and parses it as JSON (RFC 8259). Callers without a token share one limit.
 * @throws {BadRequestError} if its content type, charset or encoding is not supported, or it is too large, empty, not
 *   UTF-8, not JSON or nested too deeply
 * @throws {RateLimitedError | InternalError} if the unfinished bodies of the caller, or of all callers, are too large
 */
export async function readJson(
  request: IncomingMessage,
  { viewer, readBody }: { readonly viewer: Viewer; readonly readBody: ReadBody },
): Promise<unknown> {
  checkContentType(request.headers['content-type']);
  const bytes = await readBody(request, findLimits(viewer));
  if (bytes.length === 0) throw createBodyError('is empty');
  return parseJson(decode(bytes), ['body']);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw createBodyError('is not UTF-8');
  }
}

/** Parses JSON at a path of the request. @throws {BadRequestError} if it is not JSON or nested too deeply */
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

/** Whether objects and arrays are nested deeper than a number of levels. */
function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}

function checkContentType(contentType: string | undefined): void {
  const [type, ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') throw createBodyError('must be sent with Content-Type: application/json');
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw createBodyError('must be encoded in UTF-8');
}

function badRequest(path: Path, message: string): BadRequestError {
  return new BadRequestError(`The ${formatLocation(path)} ${message}.`, [{ path, message, value: null }]);
}
