import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BadRequestError } from '../errors/gateway-errors.ts';
import type { Connections } from './connections.ts';

/** What is wrong with a request, by Node.js' error code. */
const messages: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'has headers that are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'took too long to arrive',
};

/** Time for the client to read the error before its socket is destroyed. */
const LINGER_MS = 1000;

/**
 * Replies to malformed HTTP, and to headers that are too large or too slow, with an error body. By default, Node.js
 * replies without a body.
 */
export function rejectMalformed(
  server: Server,
  { findLatest }: Pick<Connections, 'findLatest'>,
  formatBody: (error: BadRequestError) => string,
): void {
  const rejected = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = findLatest(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || hasReplyBegun(response)) socket.destroy();
    else if (!rejected.has(socket)) {
      rejected.add(socket);
      const message = messages[error.code ?? ''] ?? 'is not valid HTTP';
      const reject = () => sendLast(socket, formatBody(createMalformedError(message)));
      // Replies are sent in the order of the requests (RFC 9112, section 9.3.2).
      if (isPending(response)) response.once('close', reject);
      else reject();
    }
  });
}

/** Sends an error and closes the connection. */
function sendLast(socket: Socket, body: string): void {
  if (!socket.writable) return;
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Whether a reply to the malformed request has begun. The client would take a second one for its next reply. */
function hasReplyBegun(response: ServerResponse | undefined): boolean {
  return response?.headersSent === true && !response.req.complete;
}

/** Whether the reply to an earlier request is not complete. */
function isPending(response: ServerResponse | undefined): response is ServerResponse {
  return response?.req.complete === true && !response.writableFinished;
}

/** Creates the error for a request that is not valid HTTP. */
export function createMalformedError(message: string): BadRequestError {
  return new BadRequestError(`The request ${message}.`, [{ path: ['request'], message, value: null }]);
}
