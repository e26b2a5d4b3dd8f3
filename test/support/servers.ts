import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** A server that listens. */
export type TestServer = {
  port: number;
  /** Of an HTTP server. */
  url: string;
  /** Closes the server and its connections. */
  close(): Promise<void>;
};

/** Lets a server listen on loopback, by default on a free port. */
export async function startServer(server: Server, port = 0, host = '127.0.0.1'): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
    socket.on('error', () => undefined);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: getPort(server),
    url: `http://127.0.0.1:${getPort(server)}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns the port that a server listens on. */
export function getPort(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  return address.port;
}

/**
 * Returns a port that no process listens on. It is below the range that Linux takes local ports from, so that no
 * connection takes the port before it is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(randomInt(10_000, 32_768), '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    const port = getPort(server);
    server.close();
    await once(server, 'close');
    return port;
  }
}
