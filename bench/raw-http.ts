import { connect, type Socket } from 'node:net';

/* A minimal HTTP/1.1 client, because the load generator shares the machine with the measured server. */

/** Formats a GraphQL request. */
export function formatPostRequest(
  address: string,
  token: string,
  body: string,
  accept = 'application/json',
): string {
  return [
    'POST /graphql HTTP/1.1',
    `Host: ${new URL(address).host}`,
    `Authorization: Bearer ${token}`,
    `Accept: ${accept}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** Opens a connection. Received text is passed to `take`; errors and the end of the connection to `fail`. */
export function openConnection(
  address: string,
  take: (text: string) => void,
  fail: (reason: string) => void,
): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  return socket
    .setEncoding('latin1')
    .on('data', take)
    .on('error', (error) => fail(String(error)))
    .on('close', () => fail('A connection was closed.'));
}

/** Creates a function that receives a connection's text in chunks and passes complete replies to `take`. */
export function createReplyReader(take: (reply: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    rest += text;
    for (let end = findEndOfReply(rest); end !== -1; end = findEndOfReply(rest)) {
      take(rest.slice(0, end));
      rest = rest.slice(end);
    }
  };
}

/** Returns the end of the first reply; -1 if it is incomplete. */
function findEndOfReply(text: string): number {
  const body = text.indexOf('\r\n\r\n') + 4;
  if (body === 3) return -1;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
  if (length === undefined) throw new Error(`A reply has no Content-Length: ${text.slice(0, body)}`);
  const end = body + Number(length);
  return text.length < end ? -1 : end;
}
