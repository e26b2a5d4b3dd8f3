import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { startServer } from '../support/servers.ts';

/** The server of a web app: its files, tokens, and a proxy to the gateway. */
export type WebApp = {
  origin: string;
  /** The streams that were opened, and those that are open. */
  streams: { opened: number; open: number };
  /** Forwards requests to another gateway. */
  setGateway(address: string): void;
  /** Ends all open streams, as if the connection were lost. */
  endStreams(): void;
  close(): Promise<void>;
};

type WebAppOptions = {
  /** The content of each path; `/` is a page. */
  files: ReadonlyMap<string, string | Uint8Array>;
  gateway: { address: string };
  /** Issues the token that `/token` returns; `query` is the query string. */
  getToken(query: URLSearchParams): Promise<string>;
};

/** Serves a web app from the origin at which it also reaches `/graphql`, so that the browser needs no CORS. */
export async function startWebApp({ files, gateway, getToken }: WebAppOptions): Promise<WebApp> {
  let target = gateway.address;
  const streams = { opened: 0, open: 0 };
  const replies = new Set<ServerResponse>();

  function forward(incoming: IncomingMessage, reply: ServerResponse): void {
    const { method, url = '/', headers } = incoming;
    const isStream = headers.accept === 'text/event-stream';
    if (isStream) {
      streams.opened += 1;
      streams.open += 1;
      replies.add(reply);
      reply.on('close', () => {
        streams.open -= 1;
        replies.delete(reply);
      });
    }
    const outgoing = request(new URL(url, target), { method, headers }, (response) => {
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.on('error', () => reply.destroy()).pipe(reply);
    });
    // Like the development server of Vite.
    outgoing.on('error', () => (reply.headersSent ? reply.destroy() : reply.writeHead(500).end('No reply')));
    reply.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  const server = createServer(async (incoming, reply) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost');
    if (pathname === '/graphql') return forward(incoming, reply);
    if (pathname === '/token') return reply.end(await getToken(searchParams));
    const content = files.get(pathname);
    const type = pathname.endsWith('.js')
      ? 'text/javascript'
      : pathname.endsWith('.css')
        ? 'text/css'
        : 'text/html';
    return reply.writeHead(content === undefined ? 404 : 200, { 'Content-Type': type }).end(content);
  });
  const { url, close } = await startServer(server);

  return {
    origin: url,
    streams,
    setGateway(address) {
      target = address;
    },
    endStreams() {
      for (const reply of replies) reply.destroy();
    },
    close,
  };
}
