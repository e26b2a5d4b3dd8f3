import { connect, type Socket } from 'node:net';

/*
 * HTTP/1.1 as cheap as it gets: a load generator shares the machine with what it measures. A request is text, and of a
 * reply only its status and the end are looked for.
 */

/** The bytes of a POST of JSON, all in one. */
export function postRequest(
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

/** Opens a connection that passes on text as it comes; `fail` is called when it breaks or ends. */
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

/** Gathers the texts of a connection to replies with a `Content-Length`; `take` gets each reply as a whole. */
export function createReplyReader(take: (reply: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    rest += text;
    for (let end = endOfReply(rest); end !== -1; end = endOfReply(rest)) {
      take(rest.slice(0, end));
      rest = rest.slice(end);
    }
  };
}

/** Where the first reply of a text ends; -1 if it is not complete. */
function endOfReply(text: string): number {
  const body = text.indexOf('\r\n\r\n') + 4;
  if (body === 3) return -1;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
  if (length === undefined) throw new Error(`A reply has no Content-Length: ${text.slice(0, body)}`);
  const end = body + Number(length);
  return text.length < end ? -1 : end;
}
