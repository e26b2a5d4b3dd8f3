import { type LookupAddress, type LookupOptions, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { readHost } from '../../config/formats.ts';
import { MAX_LENGTH } from '../../values/text.ts';

/**
 * Returns the rule that an endpoint breaks; undefined if requests may be sent to it. Names are resolved and checked
 * when a socket connects. An endpoint whose host and port are in `allowedHosts` (PUSH_ALLOWED_HOSTS) need not use port
 * 443 or a public address.
 */
export function findEndpointIssue(endpoint: string, allowedHosts: readonly string[]): string | undefined {
  if (endpoint.length > MAX_LENGTH.url) return `must have at most ${MAX_LENGTH.url} characters`;
  const url = URL.parse(endpoint);
  if (url?.protocol !== 'https:') return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (allowedHosts.includes(url.host)) return undefined;
  if (url.port !== '') return 'must use port 443';
  const host = readHost(url);
  return isIP(host) === 0 || isPublicAddress(host) ? undefined : 'must have a public address';
}

/** The part of IPv6 that is assigned for public use (RFC 4291, section 2.4). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/** Whether an IP address is public: no private, shared, local, multicast, reserved or translated address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST));
}

/** Carries the same code as an unknown name, so that users cannot probe for private names. */
class HostNotFoundError extends Error {
  readonly code = NOTFOUND;
}

/**
 * Creates a `lookup` for sockets that returns the public addresses of a host, and fails if there are none. The socket
 * connects only to these addresses, so it does not matter if the name resolves to another address later.
 */
export function createPublicLookup(resolver = createResolver()): LookupFunction {
  return (hostname, options, callback) => {
    void resolveName(resolver, hostname, options).then((found) => {
      const addresses = found.filter(({ address }) => isPublicAddress(address));
      const [first] = addresses;
      if (first === undefined) callback(new HostNotFoundError('The host has no public address.'), []);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** `dns.lookup` would occupy a thread of the process for each name that users choose, until the query ends. */
function createResolver(): Resolver {
  return new Resolver({ timeout: 2000, tries: 1 });
}

/** Returns the addresses of a name; empty if no query succeeds. */
async function resolveName(
  resolver: Resolver,
  hostname: string,
  { family }: LookupOptions,
): Promise<LookupAddress[]> {
  const [ipv4, ipv6] = await Promise.allSettled([
    family === 6 || family === 'IPv6' ? [] : resolver.resolve4(hostname),
    family === 4 || family === 'IPv4' ? [] : resolver.resolve6(hostname),
  ]);
  return [...listAddresses(ipv4, 4), ...listAddresses(ipv6, 6)];
}

function listAddresses(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}
