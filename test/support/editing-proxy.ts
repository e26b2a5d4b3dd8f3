import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { portOf } from './proxy.ts';

/** What becomes of what a client sends: it is passed on, in other words, or held back with all that follows. */
export type Edit = (sent: Buffer) => Buffer | 'hold';

/** A TCP address in front of a server, which looks at what clients send. */
export type EditingProxy = { port: number; close(): Promise<void> };

/** Puts a proxy before a port of this machine. */
export async function startEditingProxy(target: number, edit: Edit): Promise<EditingProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    keep(client);
    keep(upstream);
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
    port: portOf(server),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
