import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { getPort } from './proxy.ts';

/** What happens to data from a client: it is forwarded, replaced, or held back together with everything after it. */
export type Edit = (sent: Buffer) => Buffer | 'hold';

/** A TCP proxy that inspects what clients send. */
export type EditingProxy = { port: number; close(): Promise<void> };

/** Starts a proxy in front of a local port. */
export async function startEditingProxy(target: number, edit: Edit): Promise<EditingProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    track(client);
    track(upstream);
    let isHeld = false;
    client.on('data', (sent) => {
      const edited = isHeld ? 'hold' : edit(sent);
      isHeld = edited === 'hold';
      if (edited !== 'hold') upstream.write(edited);
    });
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: getPort(server),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
