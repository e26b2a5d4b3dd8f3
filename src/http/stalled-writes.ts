import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Destroys a socket whose client takes nothing of what is written to it, once between one and two times `stalledMs`
 * have passed: Node.js looks at a write's progress that often. A socket without anything to write lives on while a
 * request of it is served, so that live streams may be idle.
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
