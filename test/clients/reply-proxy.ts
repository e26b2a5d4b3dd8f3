import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { startServer } from '../support/servers.ts';

/** What happens to a part of a reply: it is replaced, or the connection is cut. */
export type EditReply = (operation: string, part: string) => string | 'cut';

/** An HTTP proxy in front of a gateway that counts operations and edits replies. */
export type ReplyProxy = {
  address: string;
  /** The names of the operations that were sent, in order. */
  readonly operations: readonly string[];
  /** The bodies of the operations that were sent. */
  readonly bodies: readonly string[];
  /** Edits each part of the replies to come. */
  edit(change: EditReply): void;
  close(): Promise<void>;
};

/** Starts a proxy. A reply to a query is one part, an event of a stream as well. */
export async function startReplyProxy({ address }: { address: string }): Promise<ReplyProxy> {
  const operations: string[] = [];
  const bodies: string[] = [];
  let edit: EditReply = (_operation, part) => part;

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const operation = /(?:query|mutation|subscription) (\w+)/.exec(body)?.[1] ?? '';
    operations.push(operation);
    bodies.push(body);
    const { host: _host, ...headers } = incoming.headers;
    const sent = forward(`${address}${incoming.url}`, { method: incoming.method, headers });
    outgoing.on('close', () => sent.destroy());
    sent.on('error', () => outgoing.destroy());
    sent.on('response', async (reply) => {
      const { 'content-length': _length, ...kept } = reply.headers;
      outgoing.writeHead(reply.statusCode ?? 500, kept).flushHeaders();
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream');
      reply.setEncoding('utf8').on('error', () => outgoing.destroy());
      const send = (part: string) => {
        const edited = edit(operation, part);
        if (edited === 'cut') outgoing.destroy();
        else outgoing.write(edited);
      };
      if (isStream) reply.on('data', send).on('end', () => outgoing.end());
      else {
        send(await text(reply));
        outgoing.end();
      }
    });
    sent.end(body);
  }

  const server = createServer(
    (incoming, outgoing) => void handle(incoming, outgoing).catch(() => outgoing.destroy()),
  );
  const { url, close } = await startServer(server);
  return {
    address: url,
    operations,
    bodies,
    edit(change) {
      edit = change;
    },
    close,
  };
}
