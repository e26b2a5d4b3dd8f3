import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BadRequestError } from '../errors/gateway-errors.ts';
import { createMalformedError } from './malformed-error.ts';

/** Time for the client to read the error before its socket is destroyed. */
const LINGER_MS = 1000;

/**
 * Replies to malformed HTTP, and to headers that are too large or too slow, with an error body. By default, Node.js
 * replies without a body.
 */
export function rejectMalformed(server: Server, formatBody: (error: BadRequestError) => string): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  const rejected = new WeakSet<Socket>();
  server.on('request', (request, response) => latest.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = latest.get(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || hasReplyBegun(response)) socket.destroy();
    else if (!rejected.has(socket)) {
      rejected.add(socket);
      const reject = () => sendLast(socket, formatBody(createMalformedError(describeReason(error.code))));
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

/**
 * Whether a reply to the malformed request has begun. The client would mistake a second reply for the reply to its next
 * request.
 */
function hasReplyBegun(response: ServerResponse | undefined): boolean {
  return response?.headersSent === true && !response.req.complete;
}

/** Whether the reply to an earlier request is not complete. */
function isPending(response: ServerResponse | undefined): response is ServerResponse {
  return response?.req.complete === true && !response.writableFinished;
}

function describeReason(code: string | undefined): string {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'has headers that are too large';
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'took too long to arrive';
    default:
      return 'is not valid HTTP';
  }
}
