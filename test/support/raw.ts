import { connect } from 'node:net';

/** A reply as received, parsed from its bytes. */
export type RawReply = { status: number; headers: Headers; text: string };

/** Sends bytes unchanged and reads until the gateway closes, for requests that no HTTP client would send. */
export async function sendRaw({ address }: { address: string }, bytes: string): Promise<RawReply> {
  const { hostname, port } = new URL(address);
  const chunks: Buffer[] = [];
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => {
    socket
      .on('data', (chunk) => chunks.push(chunk))
      .once('end', resolve)
      .once('error', reject);
    socket.write(Buffer.from(bytes, 'latin1'));
  });
  socket.destroy();
  const whole = Buffer.concat(chunks).toString();
  const end = whole.indexOf('\r\n\r\n');
  const [first = '', ...lines] = whole.slice(0, end).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const [name = '', ...value] = line.split(':');
      return [name, value.join(':').trim()];
    }),
  );
  return { status: Number(first.split(' ')[1]), headers, text: whole.slice(end + 4) };
}

/** Builds an HTTP/1.1 request with `Connection: close` and the given header lines. */
export function rawRequest(start: string, lines: readonly string[] = [], body = ''): string {
  return [`${start} HTTP/1.1`, 'Host: gateway.test', 'Connection: close', ...lines, '', body].join('\r\n');
}
