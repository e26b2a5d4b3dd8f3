import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OperatorError } from '../errors/operator-error.ts';

/** The address to listen on. With `reusePort`, the kernel distributes connections among all processes that share it. */
type ListenAddress = { host: string; port: number; reusePort?: boolean };

/** The settings that error messages name. */
type SettingNames = { host: 'HOST' | 'ADMIN_HOST'; port: 'PORT' | 'ADMIN_PORT' };

/**
 * Starts to listen and returns the URL with the actual port: `http://127.0.0.1:4000`.
 * @throws {OperatorError} if the host or port is not available
 */
export async function listen(
  server: Server,
  { host, port, reusePort = false }: ListenAddress,
  names: SettingNames = { host: 'HOST', port: 'PORT' },
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(toOperatorError(error, { host, port }, names));
    server.once('error', fail).listen({ host, port, reusePort }, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return formatAddress(server);
}

function toOperatorError(
  error: NodeJS.ErrnoException,
  { host, port }: ListenAddress,
  names: SettingNames,
): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new OperatorError(
        `Port ${port} of ${host} is in use. Stop the process that uses it, or set ${names.port} to another port (0 selects a free one).`,
      );
    case 'EACCES':
      return new OperatorError(
        `This user is not allowed to listen on port ${port}. Set ${names.port} to 1024 or higher.`,
      );
    case 'ENOTSUP':
      return new OperatorError(
        'This system does not support sharing a port. Unset REUSE_PORT and use a proxy instead.',
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new OperatorError(
        `"${host}" is not an address of this machine. Set ${names.host} to one of its addresses (127.0.0.1 for local access, 0.0.0.0 for all).`,
      );
    default:
      return error;
  }
}

function formatAddress(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  const { family, address: host, port }: AddressInfo = address;
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`;
}
