import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OperatorError } from '../errors/operator-error.ts';

/** Where to listen; with `reusePort` the kernel shares connections out among all processes that listen there. */
type Place = { host: string; port: number; reusePort?: boolean };

/** The settings that a failure names. */
type Names = { host: 'HOST' | 'ADMIN_HOST'; port: 'PORT' | 'ADMIN_PORT' };

/**
 * Listens, and answers the address with the port that was really taken: `http://127.0.0.1:4000`.
 * @throws {OperatorError} where the host or the port cannot be had
 */
export async function listen(
  server: Server,
  { host, port, reusePort = false }: Place,
  names: Names = { host: 'HOST', port: 'PORT' },
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(explained(error, { host, port }, names));
    server.once('error', refuse).listen({ host, port, reusePort }, () => {
      server.off('error', refuse);
      resolve();
    });
  });
  return formatAddress(server);
}

function explained(error: NodeJS.ErrnoException, { host, port }: Place, names: Names): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new OperatorError(
        `Port ${port} of ${host} is taken by another process. Stop that one, or set ${names.port} to another (0 takes a free one).`,
      );
    case 'EACCES':
      return new OperatorError(
        `This user may not listen on port ${port}. Set ${names.port} to 1024 or more.`,
      );
    case 'ENOTSUP':
      return new OperatorError(
        'This system cannot share a port. Take REUSE_PORT away, and use a proxy instead.',
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new OperatorError(
        `"${host}" is no address of this machine. Set ${names.host} to one (127.0.0.1, or 0.0.0.0 for all).`,
      );
    default:
      return error;
  }
}

function formatAddress(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  const { family, address: host, port }: AddressInfo = address;
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`;
}
