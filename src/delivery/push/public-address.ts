import { type LookupAddress, lookup } from 'node:dns';
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

/** Resolves a name to all of its addresses. */
type ResolveAll = (
  hostname: string,
  options: { all: true; family: number; hints: number; order: 'verbatim' },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Creates a `lookup` for sockets that returns the public addresses of a host, and fails if there are none. The socket
 * connects to exactly these, so a name that resolves to another address later is of no use.
 */
export function createPublicLookup(resolve: ResolveAll = lookup): LookupFunction {
  return (hostname, { all, family, hints }, callback) => {
    const numeric = typeof family === 'number' ? family : 0;
    resolve(
      hostname,
      { all: true, family: numeric, hints: hints ?? 0, order: 'verbatim' },
      (error, found) => {
        const addresses = found?.filter(({ address }) => isPublicAddress(address)) ?? [];
        const [first] = addresses;
        if (error) callback(error, []);
        else if (first === undefined)
          callback(new AddressNotPublicError('The host has no public address.'), []);
        else if (all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
    );
  };
}
