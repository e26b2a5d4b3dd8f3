import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The part of IPv6 that is assigned for public use (RFC 4291, section 2.4). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/** Whether an IP address is public: no private, shared, local, multicast, reserved or translated address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST));
}

/** The code of the error for a host without a public address. */
export const ADDRESS_NOT_PUBLIC = 'ERR_ADDRESS_NOT_PUBLIC';

class AddressNotPublicError extends Error {
  readonly code = ADDRESS_NOT_PUBLIC;
}

/** Resolves a name to all of its addresses, like `dns.lookup`. */
type ResolveAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Creates a `lookup` for sockets that returns the public addresses of a host, and fails if there are none. The socket
 * connects to exactly these, so it does not matter if the name resolves to another address later.
 */
export function createPublicLookup(resolve: ResolveAll = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = found.filter(({ address }) => isPublicAddress(address));
      const [first] = addresses;
      if (first === undefined) callback(new AddressNotPublicError('The host has no public address.'), []);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
