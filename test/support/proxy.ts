import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { getPort } from './servers.ts';

/** A TCP proxy that can simulate outages of the server behind it. */
export type TestProxy = {
  port: number;
  /** `refuse` closes every connection and the port; `stall` keeps connections open and forwards nothing. */
  setState(state: 'open' | 'refuse' | 'stall'): Promise<void>;
  /** Forwards new connections to another local port. */
  setTarget(port: number): void;
  close(): Promise<void>;
};

/** What happens to data from a client: it is forwarded, replaced, or held back together with everything after it. */
export type Edit = (sent: Buffer) => Buffer | 'hold';

/**
 * Starts a proxy in front of a local port, which edits what clients send. A stalled connection never recovers, as after
 * the crash of a host.
 */
export async function startProxy(target: number, edit?: Edit): Promise<TestProxy> {
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
    if (edit) forwardEdited(client, upstream, edit);
    else client.pipe(upstream);
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = getPort(server);

  const refuse = async () => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    port,
    async setState(state) {
      isStalled = state === 'stall';
      if (isStalled) for (const socket of sockets) socket.unpipe().pause();
      if (state === 'refuse') await refuse();
      else if (!server.listening) {
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
      }
    },
    setTarget(next) {
      upstreamPort = next;
    },
    close: refuse,
  };
}

function forwardEdited(client: Socket, upstream: Socket, edit: Edit): void {
  let isHeld = false;
  client.on('data', (sent) => {
    const edited = isHeld ? 'hold' : edit(sent);
    isHeld = edited === 'hold';
    if (edited !== 'hold') upstream.write(edited);
  });
}
