import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { getPort } from '../../support/servers.ts';

/**
 * Starts a proxy like nginx's `proxy_pass` without further directives: it sends the address of the upstream as `Host`
 * and `Connection: close`, adds no header, and passes everything else unchanged.
 */
export async function startForwardingProxy(upstream: string) {
  const { hostname, port, host } = new URL(upstream);
  const server = createServer((request, response) => {
    const { method, url: path, headers } = request;
    const forwarded = { ...headers, host, connection: 'close' };
    const sent = httpRequest({ hostname, port, method, path, headers: forwarded }, (reply) => {
      const { connection: _ofUpstream, ...replied } = reply.headers;
      response.writeHead(reply.statusCode ?? 502, replied);
      reply.pipe(response);
    });
    sent.on('error', () => response.destroy());
    request.pipe(sent);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${getPort(server)}`,
    async close() {
      server.close().closeAllConnections();
      await once(server, 'close');
    },
  };
}
