import { isIP } from 'node:net';

/** Formats the URL at which local programs reach a server that listens on a host and port. */
export function formatGatewayAddress({ host, port }: { host: string; port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`;
}
