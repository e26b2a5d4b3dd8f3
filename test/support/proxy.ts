import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP address in front of a server, at which that server can go away and come back. */
export type TestProxy = {
  port: number;
  /** `refuse` cuts every connection and closes the port; `stall` leaves all open and passes nothing on any more. */
  become(state: 'open' | 'refuse' | 'stall'): Promise<void>;
  /** From now on new connections go to another port of this machine. */
  pointTo(port: number): void;
  close(): Promise<void>;
};

/** Puts a proxy before a port of this machine. A connection that was stalled stays so, as after a host's death. */
export async function startProxy(target: number): Promise<TestProxy> {
  let upstreamPort = target;
  const sockets = new Set<Socket>();
  let stalls = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    if (stalls) return;
    const upstream = connect(upstreamPort, '127.0.0.1');
    keep(upstream);
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);

  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    async become(state) {
      stalls = state === 'stall';
      if (stalls) for (const socket of sockets) socket.unpipe().pause();
      if (state === 'refuse') {
        server.close();
        cut();
        await once(server, 'close');
      } else if (!server.listening) {
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
      }
    },
    pointTo(next) {
      upstreamPort = next;
    },
    async close() {
      cut();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

/** The port that a server of this machine listens on. */
export function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return address.port;
}
