import { once } from 'node:events';
import { connect } from 'node:net';

/** A connection that the client never closes. */
export type HalfOpenClient = {
  /** Resolves with everything received when the gateway has closed both directions. */
  closed: Promise<string>;
};

const DRIP_MS = 20;

/**
 * Opens a connection, sends `first`, and then `drip` repeatedly until the connection is closed. Without `drip` it
 * writes nothing until the gateway has closed its side.
 */
export async function openHalfOpenClient(
  { address }: { address: string },
  first: string,
  drip?: string,
): Promise<HalfOpenClient> {
  const { hostname, port } = new URL(address);
  // The connection stays open after the gateway's FIN, because a client may keep its own side open.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.on('error', () => undefined);
  socket.write(first);
  // Only a write reveals whether the other side is still open.
  const dripping = setInterval(() => {
    if (drip !== undefined || socket.readableEnded) socket.write(drip ?? '.');
  }, DRIP_MS);
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => {
      clearInterval(dripping);
      resolve(text);
    });
  });
  return { closed };
}
