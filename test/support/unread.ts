import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection whose client sends but does not read. */
export type UnreadConnection = {
  send(text: string): void;
  /** Starts reading and passes every chunk to the listener. */
  onText(listener: (text: string) => void): void;
  /** Starts reading and returns everything after the connection has closed. */
  readAll(): Promise<string>;
  /** Reads to the end, pausing after every `bytes` bytes, and returns the number of bytes received. */
  readSlowly(bytes: number, pauseMs: number): Promise<number>;
  close(): void;
};

/** Opens a connection, sends a text of bytes, and reads nothing. */
export async function openUnread({ address }: { address: string }, text: string): Promise<UnreadConnection> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname).pause();
  // The gateway may close the connection at any time.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text, 'latin1');
  return {
    send: (more) => void socket.write(more),
    onText: (listener) => void socket.setEncoding('latin1').on('data', listener).resume(),
    readAll: () => readToEnd(socket),
    readSlowly: (bytes, pauseMs) => readSlowly(socket, bytes, pauseMs),
    close: () => socket.destroy(),
  };
}

async function readSlowly(socket: Socket, bytes: number, pauseMs: number): Promise<number> {
  let length = 0;
  let taken = 0;
  socket.on('data', (chunk) => {
    length += chunk.length;
    taken += chunk.length;
    if (taken < bytes) return;
    taken = 0;
    socket.pause();
    setTimeout(() => socket.resume(), pauseMs);
  });
  socket.resume();
  await closed(socket);
  return length;
}

async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).resume();
  await closed(socket);
  return Buffer.concat(chunks).toString('latin1');
}

/** Unlike `once`, does not throw if the gateway resets the connection. */
async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}
