import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OperatorError } from '../errors/failure.ts';

/** The address to listen on. With `reusePort`, the kernel distributes connections among all processes that share it. */
type ListenAddress = { host: string; port: number; reusePort?: boolean };

/**
 * Starts to listen and returns the URL with the actual port: `http://127.0.0.1:4000`. Error messages name the settings
 * `names`.
 * @throws {OperatorError} if the host or port is not available
 */
export async function listen(
  server: Server,
  { host, port, reusePort = false }: ListenAddress,
  names = { host: 'HOST', port: 'PORT' },
): Promise<string> {
  const noAddress = `"${host}" is not an address of this machine. Set ${names.host} to one of its addresses (127.0.0.1 for local access, 0.0.0.0 for all).`;
  /** By Node.js' error code. */
  const messages: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} of ${host} is in use. Stop the process that uses it, or set ${names.port} to another port (0 selects a free one).`,
    EACCES: `This user is not allowed to listen on port ${port}. Set ${names.port} to 1024 or higher.`,
    ENOTSUP: 'This system does not support sharing a port. Unset REUSE_PORT and use a proxy instead.',
    EADDRNOTAVAIL: noAddress,
    ENOTFOUND: noAddress,
    EAI_AGAIN: noAddress,
  };
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const message = messages[error.code ?? ''];
      reject(message === undefined ? error : new OperatorError(message));
    };
    server.once('error', fail).listen({ host, port, reusePort }, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return formatAddress(server);
}

function formatAddress(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  const { family, address: host, port }: AddressInfo = address;
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`;
}
