import { isIP } from 'node:net';

/** The default of HOST and ADMIN_HOST. */
export const LOOPBACK = '127.0.0.1';

/** Whether a host is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Returns the host name or IP address of a URL, without the brackets around an IPv6 address. */
export function readHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
