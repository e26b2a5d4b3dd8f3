import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy that can simulate outages of the server behind it. */
export type TestProxy = {
  port: number;
  /** `refuse` closes every connection and the port; `stall` keeps connections open and forwards nothing. */
  setState(state: 'open' | 'refuse' | 'stall'): Promise<void>;
  /** Forwards new connections to another local port. */
  setTarget(port: number): void;
  close(): Promise<void>;
};

/** Starts a proxy in front of a local port. A stalled connection never recovers, as after the crash of a host. */
export async function startProxy(target: number): Promise<TestProxy> {
  let upstreamPort = target;
  const sockets = new Set<Socket>();
  let isStalled = false;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    track(client);
    if (isStalled) return;
    const upstream = connect(upstreamPort, '127.0.0.1');
    track(upstream);
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = getPort(server);

  const closeSockets = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    async setState(state) {
      isStalled = state === 'stall';
      if (isStalled) for (const socket of sockets) socket.unpipe().pause();
      if (state === 'refuse') {
        server.close();
        closeSockets();
        await once(server, 'close');
      } else if (!server.listening) {
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
      }
    },
    setTarget(next) {
      upstreamPort = next;
    },
    async close() {
      closeSockets();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns the port that a server listens on. */
export function getPort(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  return address.port;
}
