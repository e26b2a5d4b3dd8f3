import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BadRequestError } from '../errors/gateway-errors.ts';

/** Time for a client to read why its connection is closed; it need not close its own side. */
const LINGER_MS = 1000;

/**
 * Answers what is not HTTP, or whose headers are too large or too slow, with our error instead of Node's bare one.
 * `write` makes the body.
 */
export function answerMalformed(server: Server, write: (error: BadRequestError) => string): void {
  const latest = new WeakMap<Socket, ServerResponse>();
  const refused = new WeakSet<Socket>();
  server.on('request', (request, response) => latest.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = latest.get(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswered(response)) socket.destroy();
    else if (!refused.has(socket)) {
      refused.add(socket);
      const refuse = () => sendLast(socket, write(malformed(describeReason(error.code))));
      // Replies are sent in the order of the requests (RFC 9112, section 9.3.2).
      if (isDue(response)) response.once('close', refuse);
      else refuse();
    }
  });
}

/** Sends an error as the last reply of a connection, and closes it. */
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

/** Whether a reply to the request that fails is on its way or gone: another would be taken for the next one's. */
function isAnswered(response: ServerResponse | undefined): boolean {
  return response?.headersSent === true && !response.req.complete;
}

/** Whether a request before the one that fails still waits for its reply, or for the end of it. */
function isDue(response: ServerResponse | undefined): response is ServerResponse {
  return response?.req.complete === true && !response.writableFinished;
}

/**
 * Requires exactly one Host (RFC 9112, section 3.2). Node.js would reply with a bare 400.
 * @throws {BadRequestError}
 */
export function checkHost(
  { httpVersion, headersDistinct: { host = [] } }: IncomingMessage,
  _response: ServerResponse,
  next: () => void,
): void {
  if (host.length > 1) throw malformed('has more than one Host header');
  if (host.length === 0 && httpVersion === '1.1') throw malformed('has no Host header');
  next();
}

function malformed(message: string): BadRequestError {
  return new BadRequestError(`The request ${message}.`, [{ path: ['request'], message, value: null }]);
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
