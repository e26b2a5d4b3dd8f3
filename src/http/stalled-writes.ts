import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Destroys sockets whose client does not read, after one to two times `stalledMs`: Node.js checks the progress of
 * writes at that interval. Sockets with nothing to write remain open while a request is running, so that live streams
 * can be idle. Without a request they are destroyed too, because Node.js leaves that to the listener of the timeout.
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
