import { isIP } from 'node:net';

/** The address at which a program on this machine reaches what listens on a host and port. */
export function formatGatewayAddress({ host, port }: { host: string; port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`;
}
