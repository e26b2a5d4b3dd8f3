import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * Sends bytes unchanged, reads until the gateway closes, and returns the reply, for requests that no HTTP client would
 * send.
 */
export async function sendRaw({ address }: { address: string }, bytes: string) {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.write(Buffer.from(bytes, 'latin1'));
  const whole = (await buffer(socket)).toString();
  const end = whole.indexOf('\r\n\r\n');
  const [first = '', ...lines] = whole.slice(0, end).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.replace(/:.*/, ''), line.replace(/.*?:/, '').trim()]),
  );
  return { status: Number(first.split(' ')[1]), headers, text: whole.slice(end + 4) };
}

/** Builds an HTTP/1.1 request with `Connection: close` and the given header lines. */
export function rawRequest(start: string, lines: readonly string[] = [], body = ''): string {
  return [`${start} HTTP/1.1`, 'Host: gateway.test', 'Connection: close', ...lines, '', body].join('\r\n');
}
