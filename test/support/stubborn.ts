import { once } from 'node:events';
import { connect } from 'node:net';

/** A connection whose client never closes it. */
export type StubbornClient = {
  /** Resolves with all that came over it when the gateway has given it up for good. */
  closed: Promise<string>;
};

const DRIP_MS = 20;

/**
 * Opens a connection and sends `first`; then `drip` again and again for as long as the gateway lets it, or without
 * one nothing until the gateway has closed its side.
 */
export async function openStubborn(
  { address }: { address: string },
  first: string,
  drip?: string,
): Promise<StubbornClient> {
  const { hostname, port } = new URL(address);
  // The gateway's FIN alone is not the end: a client need not answer it.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.on('error', () => undefined);
  socket.write(first);
  // Only a write tells whether the other side is still there.
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
