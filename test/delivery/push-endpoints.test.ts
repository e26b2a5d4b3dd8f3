import type { LookupOptions } from 'node:dns';
import { lookup as lookupBySystem, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { BlockList, connect, type LookupFunction } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createPublicLookup, findEndpointIssue, isPublicAddress } from '../../src/delivery/push/endpoint.ts';
import { type Answer, type Records, startNameServer } from './name-server.ts';

type Family = 'ipv4' | 'ipv6';
const BITS = { ipv4: 32n, ipv6: 128n };

/** Networks without public addresses: those of IANA's special-purpose registries, and unassigned or obsolete ones. */
const networks = [
  '0.0.0.0/8 this host',
  '10.0.0.0/8 private',
  '100.64.0.0/10 shared (CGNAT)',
  '127.0.0.0/8 loopback',
  '169.254.0.0/16 link-local, cloud metadata',
  '172.16.0.0/12 private',
  '192.0.0.0/24 IETF protocols',
  '192.0.2.0/24 documentation',
  '192.88.99.0/24 6to4 relays',
  '192.168.0.0/16 private',
  '198.18.0.0/15 benchmarks',
  '198.51.100.0/24 documentation',
  '203.0.113.0/24 documentation',
  '224.0.0.0/4 multicast',
  '240.0.0.0/4 reserved, broadcast',
  '::/3 not assigned for public use',
  '::/8 unspecified, loopback, IPv4-compatible, IPv4-mapped',
  '64:ff9b::/96 NAT64',
  '64:ff9b:1::/48 local NAT64',
  '100::/64 discard',
  '2001::/23 IETF protocols, Teredo',
  '2001:db8::/32 documentation',
  '2002::/16 6to4',
  '3fff::/20 documentation',
  '5f00::/16 segment routing',
  '4000::/2 unassigned',
  '8000::/1 unassigned',
  'fc00::/7 unique-local',
  'fe80::/10 link-local',
  'fec0::/10 site-local',
  'ff00::/8 multicast',
].map((row) => {
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d+) /.exec(row) ?? [];
  const family: Family = address.includes(':') ? 'ipv6' : 'ipv4';
  const list = new BlockList();
  list.addSubnet(address, Number(prefix), family);
  return { row, family, list, first: toNumber(address, family), hostBits: BITS[family] - BigInt(prefix) };
});

describe('public addresses', () => {
  test.each(networks)('no address of a network is public: $row', ({ family, list, first, hostBits }) => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << hostBits) - 1n }), (host) => {
        const address = toAddress(first + host, family);
        expect(list.check(address, family)).toBe(true);
        expect([address, isPublicAddress(address)]).toEqual([address, false]);
      }),
    );
  });

  /** An address beside a network, or any other one of use. */
  const arbitraryAddress = fc
    .tuple(fc.constantFrom(...networks), fc.boolean(), fc.ipV4(), fc.bigInt({ min: 0n, max: 1n << 61n }))
    .map(([{ family, first, hostBits }, isBefore, ipv4, host]): [string, Family][] => [
      [toAddress(isBefore ? first - 1n : first + (1n << hostBits), family), family],
      [ipv4, 'ipv4'],
      [toAddress((1n << 125n) + (host << 64n), 'ipv6'), 'ipv6'],
    ]);

  test('every other address is', () => {
    fc.assert(
      fc.property(arbitraryAddress, (addresses) => {
        for (const [address, family] of addresses) {
          const isSpecial = networks.some((one) => one.family === family && one.list.check(address, family));
          expect([address, isPublicAddress(address)]).toEqual([address, !isSpecial]);
        }
      }),
    );
  });

  test('an IPv4 address within IPv6 is never public, however it is written', () => {
    const embed = (address: string) => {
      const [high, low] = [0, 2].map((at) =>
        Buffer.from(address.split('.').map(Number)).readUInt16BE(at).toString(16),
      );
      const forms = [`::ffff:${address}`, `::${address}`, `64:ff9b::${address}`, `::ffff:0:${address}`];
      return [...forms, `::ffff:${high}:${low}`, `2002:${high}:${low}::1`, `64:ff9b::${high}:${low}`];
    };
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(embed(address).filter(isPublicAddress)).toEqual([]);
      }),
    );
  });

  test('no other text is one', () => {
    const short = ['', 'localhost', '127.1', '2130706433', '0x7f.1', '[::1]'];
    const extended = ['fe80::1%eth0', '1.1.1.1.', '1.1.1.1/8'];
    expect([...short, ...extended].filter(isPublicAddress)).toEqual([]);
  });
});

describe('endpoints', () => {
  const allowed = ['push.internal', 'localhost:8443', '[::1]:8443', '10.0.0.1'];

  test.each([
    'https://fcm.googleapis.com/fcm/send/abc:def',
    'https://web.push.apple.com/QKb',
    'https://fcm.googleapis.com:443/x',
    'https://8.8.8.8/x',
    'https://[2606:4700::1111]/x',
    'https://push.internal/x',
    'https://localhost:8443/x',
    'https://[::1]:8443/x',
    'https://10.0.0.1/x',
  ])('%s is accepted', (endpoint) => {
    expect(findEndpointIssue(endpoint, allowed)).toBeUndefined();
  });

  test.each<[issue: string, endpoints: string[]]>([
    [
      'must be an https URL',
      ['', 'fcm.googleapis.com/x', 'http://push.internal/x', 'ftp://a.example', 'https://'],
    ],
    [
      'must not contain a user name or password',
      ['https://user@fcm.googleapis.com/x', 'https://push.internal:x@push.internal/x'],
    ],
    [
      'must use port 443',
      ['https://fcm.googleapis.com:8443/x', 'https://push.internal:8443/x', 'https://localhost:8444/x'],
    ],
    [
      'must have a public address',
      [
        ...['127.0.0.1', '127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', '127.0.0.1.', '１２７.0.0.1'],
        ...['169.254.169.254', '10.0.0.2', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:8.8.8.8]', '[fd00::1]'],
      ].map((host) => `https://${host}/x`),
    ],
    ['must have at most 2048 characters', [`https://push.internal/${'x'.repeat(2048)}`]],
  ])('%s', (issue, endpoints) => {
    for (const endpoint of endpoints) expect(findEndpointIssue(endpoint, allowed), endpoint).toBe(issue);
  });
});

describe('lookup', () => {
  const missing = { code: 'ENOTFOUND' };
  const at = (...addresses: string[]) =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0)) await clean();
  });

  /** Creates a lookup that queries a name server with these records. */
  async function createLookup(records: Records, timeout = 5000): Promise<LookupFunction> {
    const server = await startNameServer(records);
    cleanups.push(server.close);
    const resolver = new Resolver({ timeout, tries: 1 });
    resolver.setServers([server.address]);
    return createPublicLookup(resolver);
  }

  const lookUp = (lookup: LookupFunction, options: LookupOptions, name = 'push.test') =>
    new Promise((resolve) => {
      lookup(name, options, (error, address, family) => resolve(error ?? { address, family }));
    });

  test.each<[what: string, options: LookupOptions, found: object]>([
    ['all', { all: true }, { address: at('8.8.8.8', '9.9.9.9', '2606:4700::1111') }],
    ['the first', {}, { address: '8.8.8.8', family: 4 }],
    ['both families', { all: true, family: 0 }, { address: at('8.8.8.8', '9.9.9.9', '2606:4700::1111') }],
    ['IPv4', { all: true, family: 4 }, { address: at('8.8.8.8', '9.9.9.9') }],
    ['IPv4, by name', { family: 'IPv4' }, { address: '8.8.8.8', family: 4 }],
    ['IPv6', { family: 6 }, { address: '2606:4700::1111', family: 6 }],
    ['IPv6, by name', { all: true, family: 'IPv6' }, { address: at('2606:4700::1111') }],
  ])('returns only public addresses: %s', async (_what, options, found) => {
    const lookup = await createLookup((_name, family) =>
      family === 4 ? ['10.0.0.1', '8.8.8.8', '9.9.9.9'] : ['::1', '2606:4700::1111'],
    );

    expect(await lookUp(lookup, options)).toEqual(found);
  });

  const never = new Promise<never>(() => {});

  test.each<[what: string, ipv6: Answer | Promise<Answer>]>([
    ['has no addresses', []],
    ['does not exist', 'NXDOMAIN'],
    ['fails', 'SERVFAIL'],
    ['is not answered', never],
  ])('returns the addresses of one family if the other one %s', async (_what, ipv6) => {
    const lookup = await createLookup((_name, family) => (family === 4 ? ['8.8.8.8'] : ipv6), 200);

    expect(await lookUp(lookup, { all: true })).toEqual({ address: at('8.8.8.8') });
  });

  test.each<[what: string, ipv4: Answer | Promise<Answer>, ipv6: Answer | Promise<Answer>]>([
    ['has private addresses', ['127.0.0.1', '10.0.0.1'], ['::1', 'fd00::1']],
    ['has a private address of one family', ['10.0.0.1'], []],
    ['has a translated address', [], ['::ffff:8.8.8.8']],
    ['has no addresses', [], []],
    ['does not exist', 'NXDOMAIN', 'NXDOMAIN'],
    ['cannot be resolved', 'SERVFAIL', 'SERVFAIL'],
    ['is not answered', never, never],
  ])('fails with the same error for a name that %s', async (_what, ipv4, ipv6) => {
    const lookup = await createLookup((_name, family) => (family === 4 ? ipv4 : ipv6), 200);

    expect(await lookUp(lookup, { all: true })).toMatchObject(missing);
    expect(await lookUp(lookup, {})).toMatchObject(missing);
  });

  test('fails for a name that DNS does not allow', async () => {
    const lookup = await createLookup(() => ['8.8.8.8']);

    expect(await lookUp(lookup, {}, `${'a'.repeat(64)}.test`)).toMatchObject(missing);
  });

  test('fails for a name of this machine, with the name servers of the system', async () => {
    const socket = connect({ host: 'localhost', port: 443, lookup: createPublicLookup() });

    const [error] = await once(socket, 'error');

    expect(error).toMatchObject(missing);
  });

  test('names whose queries are not answered delay no other lookup of the process', async () => {
    const released = Promise.withResolvers<Answer>();
    const asked = Promise.withResolvers<void>();
    const names = Array.from({ length: 20 }, (_none, index) => `slow-${index}.test`);
    const waiting = new Set(names.flatMap((name) => [`${name} 4`, `${name} 6`]));
    const lookup = await createLookup((name, family) => {
      waiting.delete(`${name} ${family}`);
      if (waiting.size === 0) asked.resolve();
      return released.promise;
    }, 60_000);
    const slow = names.map((name) => lookUp(lookup, {}, name));
    await asked.promise;

    const first = await Promise.race([...slow, lookupBySystem('localhost')]);
    released.resolve('NXDOMAIN');

    expect(first).toMatchObject({ address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) });
    expect(await Promise.all(slow)).toEqual(names.map(() => expect.objectContaining(missing)));
  });

  test('a socket connects to the address that was checked, even if the name resolves to another one later', async () => {
    // An address that is assigned to nobody.
    const answers = [['2d00::1'], ['::1']];
    const lookup = await createLookup((_name, family) => (family === 6 ? (answers.shift() ?? []) : []));
    const socket = connect({ host: 'rebinding.test', port: 443, lookup });
    socket.on('error', () => {});

    const [address] = await once(socket, 'connectionAttempt');
    socket.destroy();

    expect(address).toBe('2d00::1');
    expect(answers).toEqual([['::1']]);
  });
});

function toNumber(address: string, family: Family): bigint {
  if (family === 'ipv4') return BigInt(Buffer.from(address.split('.').map(Number)).readUInt32BE());
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill('0');
  return [...(first ?? []), ...zeros, ...(last ?? [])].reduce(
    (sum, group) => (sum << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

function toAddress(number: bigint, family: Family): string {
  const [groups, bits] = family === 'ipv4' ? [4, 8n] : [8, 16n];
  const parts = Array.from({ length: groups }, (_none, index) => {
    const part = (number >> (BigInt(groups - 1 - index) * bits)) & ((1n << bits) - 1n);
    return family === 'ipv4' ? String(part) : part.toString(16);
  });
  return parts.join(family === 'ipv4' ? '.' : ':');
}
