import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Destroys sockets whose client does not read, after one to two times `stalledMs`: Node.js checks the progress of
 * writes at that interval. Sockets with nothing to write remain open while a request is running, so that live streams
 * can be idle. Sockets without a request are destroyed too: with a timeout listener, Node.js no longer destroys idle
 * sockets itself.
 */
export function destroyStalledSockets(
  server: Server,
  isServing: (socket: Socket) => boolean,
  stalledMs: number,
): void {
  server.setTimeout(stalledMs, (socket) => {
    if (socket.writableLength > 0 || !isServing(socket)) socket.destroy();
  });
}
