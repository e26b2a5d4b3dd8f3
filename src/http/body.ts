import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { BadRequestError } from '../errors.ts';

/** Larger bodies are refused, counted after decompression. */
const LARGEST_BYTES = 1_048_576;

const readRaw = express.raw({ type: () => true, limit: LARGEST_BYTES });

/**
 * Reads a request's body and parses it as JSON (RFC 8259).
 * @throws {BadRequestError} for another content type or charset, an unknown encoding, and what is too large, empty,
 *   not UTF-8 or not JSON
 */
export async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  checkContentType(request.headers['content-type']);
  const bytes = await readBytes(request, response);
  if (bytes.length === 0) throw badBody('is empty');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badBody('is not UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw badBody('is not JSON');
  }
}

function checkContentType(contentType: string | undefined): void {
  const [type, ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') throw badBody('needs the header Content-Type: application/json');
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) throw badBody('must be in UTF-8');
}

/** Express reads and decompresses; what it would answer itself becomes our one error. */
async function readBytes(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown) => {
      if (error !== undefined) reject(badBody(reasonOf(error)));
      else resolve('body' in request && request.body instanceof Buffer ? request.body : Buffer.alloc(0));
    };
    readRaw(request, response, done);
  });
}

function reasonOf(error: unknown): string {
  const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
  switch (type) {
    case 'entity.too.large':
      return `is larger than ${LARGEST_BYTES} bytes`;
    case 'encoding.unsupported':
      return 'has an unknown Content-Encoding';
    default:
      return 'cannot be read';
  }
}

function badBody(message: string): BadRequestError {
  return new BadRequestError(`The body ${message}.`, [{ path: ['body'], message, value: null }]);
}
