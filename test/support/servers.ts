import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** A server that listens. */
export type TestServer = {
  port: number;
  /** Of an HTTP server. */
  url: string;
  /** Closes the server and its connections. */
  close(): Promise<void>;
};

/** Lets a server listen on loopback, by default on a free port. */
export async function startServer(server: Server, port = 0, host = '127.0.0.1'): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
    socket.on('error', () => undefined);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: getPort(server),
    url: `http://127.0.0.1:${getPort(server)}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

/** Returns the port that a server listens on. */
export function getPort(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  return address.port;
}

/**
 * Returns a port that no process listens on. It is below the range that Linux takes local ports from, so that no
 * connection takes the port before it is used.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(randomInt(10_000, 32_768), '127.0.0.1');
    const listening = await once(server, 'listening').catch(() => undefined);
    if (listening === undefined) continue;
    const port = getPort(server);
    await once(server.close(), 'close');
    return port;
  }
}

/** A certificate and its private key, in PEM. */
export type Certificate = { cert: string; key: string };

/** Creates a self-signed certificate for alternative names such as `DNS:mail.test` and `IP:127.0.0.1`. */
export function createCertificate(...names: readonly string[]): Certificate {
  const type = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=gateway test', '-addext', `subjectAltName=${names.join(',')}`];
  const options = { encoding: 'utf8', stdio: 'pipe' } as const;
  const output = execFileSync('openssl', ['req', '-x509', ...type, ...subject, '-keyout', '-'], options);
  const start = output.indexOf('-----BEGIN CERTIFICATE-----');
  return { key: output.slice(0, start), cert: output.slice(start) };
}

/** Makes this process trust a certificate, as `NODE_EXTRA_CA_CERTS` does, until the returned function is called. */
export function trustCertificate({ cert }: Certificate): () => void {
  const authorities = getCACertificates('default');
  setDefaultCACertificates([...authorities, cert]);
  return () => setDefaultCACertificates(authorities);
}
