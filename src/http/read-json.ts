import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import getRawBody from 'raw-body';
import { BadRequestError } from '../errors/gateway-errors.ts';
import { formatLocation, type Path } from '../errors/issue.ts';

/** The default maximum of the `Content-Length`, and of the size of the content after decompression. */
const MAX_BODY_BYTES = 1_048_576;

/** Deeper than real requests, and far below the depth at which serializing overflows the stack. */
const MAX_DEPTH = 256;

/** The supported values of `Content-Encoding`. */
const decompressors = new Map<string, () => Transform>([
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
  ['gzip', createGunzip],
  ['zstd', createZstdDecompress],
]);

/**
 * Reads the body of a request and parses it as JSON (RFC 8259).
 * @throws {BadRequestError} if its content type, charset or encoding is not supported, or it is too large, empty, not
 *   UTF-8, not JSON or nested too deeply
 */
export async function readJson(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<unknown> {
  checkContentType(request.headers['content-type']);
  if (Number(request.headers['content-length']) > maxBytes) throw tooLarge(maxBytes);
  const bytes = await readBytes(request, maxBytes);
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
  if (type !== 'application/json') throw badBody('must be sent with Content-Type: application/json');
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw badBody('must be encoded in UTF-8');
}

/** Reads and decompresses a body. Rejects as soon as the content is too large. */
async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  // An empty body ends before it can be read.
  if (request.readableEnded) return Buffer.alloc(0);
  const content = decompress(request);
  try {
    return await getRawBody(content, { limit: maxBytes });
  } catch (error) {
    // Discards the rest of the body, so that the connection can be used for the next request.
    request.unpipe().resume();
    if (content !== request) content.destroy();
    const isTooLarge = error instanceof Error && 'type' in error && error.type === 'entity.too.large';
    throw isTooLarge ? tooLarge(maxBytes) : badBody('cannot be read');
  }
}

function decompress(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') return request;
  const create = decompressors.get(encoding);
  if (create === undefined) throw badBody('has an unsupported Content-Encoding');
  const content = create();
  // Without a listener, an error after the body was rejected would end the process.
  content.on('error', () => undefined);
  // `pipeline` would break the connection if the content is invalid.
  request.once('error', (error) => content.destroy(error)).pipe(content);
  return content;
}

function tooLarge(maxBytes: number): BadRequestError {
  return badBody(`is larger than ${maxBytes} bytes`);
}

function badBody(message: string): BadRequestError {
  return badRequest(['body'], message);
}

function badRequest(path: Path, message: string): BadRequestError {
  return new BadRequestError(`The ${formatLocation(path)} ${message}.`, [{ path, message, value: null }]);
}
