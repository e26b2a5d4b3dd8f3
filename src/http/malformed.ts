import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { BadRequestError } from '../errors.ts';

/**
 * Answers what is not HTTP, or whose headers are too large or too slow, with our error instead of Node's bare one.
 * `write` makes the body.
 */
export function answerMalformed(server: Server, write: (error: BadRequestError) => string): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const message = reasonOf(error.code);
    const body = write(
      new BadRequestError(`The request ${message}.`, [{ path: ['request'], message, value: null }]),
    );
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
  });
}

function reasonOf(code: string | undefined): string {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'has headers that are too large';
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'took too long to arrive';
    default:
      return 'is not valid HTTP';
  }
}
