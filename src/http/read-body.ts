import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { anonymous, type Viewer } from '../auth/viewer.ts';
import { readSystemErrorCode } from '../errors/failure.ts';
import { BadRequestError, GatewayError, InternalError, RateLimitedError } from '../errors/gateway-errors.ts';
import { formatLocation, type Path } from '../errors/issue.ts';

/** The limits of a route's bodies, in bytes. */
export type BodyLimits = {
  /** Identifies the caller, whose bodies count together. */
  readonly caller: string;
  /** Maximum size of one body, as sent and after decompression. */
  readonly maxBytes: number;
  /** Maximum size of all bodies of the caller that are being received. */
  readonly maxCallerBytes: number;
  readonly allowsCompression: boolean;
};

/** Maximum size of all bodies that a process is receiving, in bytes. */
const MAX_PROCESS_BYTES = 64 * 1_048_576;

const RETRY_SECONDS = 1;

type Decompress = (content: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

/** The supported values of `Content-Encoding`. */
const decompressors = new Map<string, Decompress>([
  ['br', promisify(brotliDecompress)],
  ['deflate', promisify(inflate)],
  ['gzip', promisify(gunzip)],
  ['zstd', promisify(zstdDecompress)],
]);

/** Reads the body of a request. */
export type ReadBody = ReturnType<typeof createBodyReader>;

/**
 * Creates the function that reads the bodies of a process. It reserves the memory of a body before it takes it, so that
 * unfinished bodies take no more than the limits. Bytes that are announced take none until they arrive: otherwise, callers
 * who send nothing but headers would keep others out. A compressed body is kept as sent, and decompressed when it is
 * complete, one at a time: the window of a decompressor takes up to 16 MiB.
 */
export function createBodyReader() {
  const bytesByCaller = new Map<string, number>();
  let processBytes = 0;
  let decompressed: Promise<unknown> = Promise.resolve();

  function reserve({ caller, maxCallerBytes }: BodyLimits, bytes: number): void {
    const callerBytes = (bytesByCaller.get(caller) ?? 0) + bytes;
    if (callerBytes > maxCallerBytes) throw new RateLimitedError(RETRY_SECONDS, 'unfinished bodies');
    if (processBytes + bytes > MAX_PROCESS_BYTES)
      throw new InternalError(`unfinished bodies exceed ${MAX_PROCESS_BYTES} bytes`, RETRY_SECONDS);
    processBytes += bytes;
    bytesByCaller.set(caller, callerBytes);
  }

  function release(caller: string, bytes: number): void {
    const callerBytes = (bytesByCaller.get(caller) ?? 0) - bytes;
    processBytes -= bytes;
    if (callerBytes === 0) bytesByCaller.delete(caller);
    else bytesByCaller.set(caller, callerBytes);
  }

  /**
   * Reads and decompresses a body.
   * @throws {BadRequestError} if it is too large, its encoding is not supported, or it cannot be read
   * @throws {RateLimitedError} if the unfinished bodies of the caller are too large
   * @throws {InternalError} if the unfinished bodies of all callers are too large
   */
  return async (request: IncomingMessage, limits: BodyLimits): Promise<Buffer> => {
    const { caller, maxBytes } = limits;
    const decompress = findDecompressor(request, limits);
    let reserved = 0;
    const reserveUpTo = (bytes: number) => {
      reserve(limits, bytes - reserved);
      reserved = bytes;
    };
    try {
      const sent = await receive(request, maxBytes, reserveUpTo);
      if (decompress === undefined || sent.length === 0) return sent;
      const content = decompressed.then(() => decompress(sent, { maxOutputLength: maxBytes }));
      decompressed = content.catch(() => undefined);
      return await content;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const isTooLarge = readSystemErrorCode(error) === 'ERR_BUFFER_TOO_LARGE';
      throw isTooLarge ? tooLarge(maxBytes) : createBodyError('cannot be read');
    } finally {
      release(caller, reserved);
    }
  };
}

function findDecompressor({ headers }: IncomingMessage, { allowsCompression }: BodyLimits) {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') return undefined;
  const decompress = allowsCompression ? decompressors.get(encoding) : undefined;
  if (decompress === undefined) throw createBodyError('has an unsupported Content-Encoding');
  return decompress;
}

/**
 * Receives a body as sent. Calls `reserveUpTo` with the memory that it takes, before it takes it: at most twice what has
 * arrived, and no more than was announced.
 */
async function receive(
  request: IncomingMessage,
  maxBytes: number,
  reserveUpTo: (bytes: number) => void,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? maxBytes);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  let content = Buffer.alloc(0);
  let size = 0;
  // The request is not destroyed, which would close the connection.
  const chunks: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  try {
    for await (const chunk of chunks) {
      const needed = size + chunk.length;
      if (needed > content.length) {
        if (needed > announced) throw tooLarge(maxBytes);
        const received = content;
        const bytes = Math.max(needed, Math.min(2 * received.length, announced));
        reserveUpTo(bytes);
        content = Buffer.allocUnsafe(bytes);
        received.copy(content);
      }
      size += chunk.copy(content, size);
    }
  } catch (error) {
    // Discards the rest, so that the connection can be used for the next request.
    request.resume();
    throw error;
  }
  return content.subarray(0, size);
}

function tooLarge(maxBytes: number): BadRequestError {
  return createBodyError(`is larger than ${maxBytes} bytes`);
}

/** Creates the error for a body that cannot be used. */
export function createBodyError(message: string): BadRequestError {
  return new BadRequestError(`The body ${message}.`, [{ path: ['body'], message, value: null }]);
}

/** The limits of bodies in JSON. */
function findLimits(viewer: Viewer): BodyLimits {
  const { caller } = viewer;
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
