import { createSocket } from 'node:dgram';
import type { LookupOptions } from 'node:dns';
import { lookup as lookupBySystem, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { BlockList, connect, type LookupFunction } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { afterEach, describe, expect, test } from 'vitest';
import { createPublicLookup, findEndpointIssue, isPublicAddress } from '../../src/delivery/push/endpoint.ts';

type Family = 'ipv4' | 'ipv6';
const BITS = { ipv4: 32, ipv6: 128 };

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
  return { row, family, list, first: toNumber(address), hostBits: BigInt(BITS[family] - Number(prefix)) };
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

  test('an IPv4 address within IPv6 is never public', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const forms = [`::ffff:${address}`, `::${address}`, `64:ff9b::${address}`, `::ffff:0:${address}`];
        expect(forms.filter(isPublicAddress)).toEqual([]);
      }),
    );
  });

  test('no other text is one', () => {
    const others = ['', 'localhost', '127.1', '2130706433', '[::1]', 'fe80::1%eth0', '1.1.1.1.', '1.1.1.1/8'];
    expect(others.filter(isPublicAddress)).toEqual([]);
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
    ['IPv4', { all: true, family: 4 }, { address: at('8.8.8.8', '9.9.9.9') }],
    ['IPv6', { family: 6 }, { address: '2606:4700::1111', family: 6 }],
  ])('returns only public addresses: %s', async (_what, options, found) => {
    const lookup = await createLookup((_name, family) =>
      family === 4 ? ['10.0.0.1', '8.8.8.8', '9.9.9.9'] : ['::1', '2606:4700::1111'],
    );

    expect(await lookUp(lookup, options)).toEqual(found);
  });

  const never = new Promise<never>(() => {});

  const publicOne = { address: at('8.8.8.8') };
  test.each<[what: string, ipv4: Answer | Promise<Answer>, ipv6: Answer | Promise<Answer>, found: object]>([
    ['has no address of one family', ['8.8.8.8'], [], publicOne],
    ['does not exist in one family', ['8.8.8.8'], 'NXDOMAIN', publicOne],
    ['fails in one family', ['8.8.8.8'], 'SERVFAIL', publicOne],
    ['is not answered in one family', ['8.8.8.8'], never, publicOne],
    ['has private addresses', ['127.0.0.1', '10.0.0.1'], ['::1', 'fd00::1'], missing],
    ['has a translated address', [], ['::ffff:8.8.8.8'], missing],
    ['has no addresses', [], [], missing],
    ['does not exist', 'NXDOMAIN', 'NXDOMAIN', missing],
    ['cannot be resolved', 'SERVFAIL', 'SERVFAIL', missing],
    ['is not answered', never, never, missing],
  ])('finds the public addresses of a name that %s, or the same error', async (_what, ipv4, ipv6, found) => {
    const lookup = await createLookup((_name, family) => (family === 4 ? ipv4 : ipv6), 200);

    expect(await lookUp(lookup, { all: true })).toMatchObject(found);
  });

  test('fails for a name of this machine, with the name servers of the system', async () => {
    const socket = connect({ host: 'localhost', port: 443, lookup: createPublicLookup() });

    const [error] = await once(socket, 'error');

    expect(error).toMatchObject(missing);
  });

  test('a name whose query is not answered delays no other lookup of the process', async () => {
    const released = Promise.withResolvers<Answer>();
    const lookup = await createLookup(() => released.promise, 60_000);
    const slow = Array.from({ length: 20 }, (_none, index) => lookUp(lookup, {}, `slow-${index}.test`));

    const first = await Promise.race([...slow, lookupBySystem('localhost')]);
    released.resolve('NXDOMAIN');

    expect(first).toMatchObject({ address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) });
    expect(await Promise.all(slow)).toEqual(slow.map(() => expect.objectContaining(missing)));
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

function toNumber(address: string): bigint {
  const bytes = ipaddr.parse(address).toByteArray();
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function toAddress(number: bigint, family: Family): string {
  const digits = BigInt.asUintN(BITS[family], number)
    .toString(16)
    .padStart(BITS[family] / 4, '0');
  return ipaddr.fromByteArray([...Buffer.from(digits, 'hex')]).toString();
}

/** The addresses of a name, or the code of the failure. */
type Answer = readonly string[] | 'NXDOMAIN' | 'SERVFAIL';

/** Returns the addresses of a name in one family. */
type Records = (name: string, family: 4 | 6) => Answer | Promise<Answer>;

/** The formats are those of RFC 1035, section 4. */
const HEADER_LENGTH = 12;
/** Of a record with a pointer as its name, without the data. */
const RECORD_LENGTH = 12;
const RECURSIVE_REPLY = 0x8180;
const CODES = { SERVFAIL: 2, NXDOMAIN: 3 };
const TYPE_AAAA = 28;
/** Points to the name of the question. */
const NAME_POINTER = 0xc000 + HEADER_LENGTH;

/** Starts a name server on loopback that replies to queries for addresses over UDP. */
async function startNameServer(records: Records) {
  const socket = createSocket('udp4');
  let isOpen = true;
  socket.on('message', async (query, { port, address }) => {
    const { name, type, end } = parseQuestion(query);
    const answer = await records(name, type === TYPE_AAAA ? 6 : 4);
    if (isOpen) socket.send(formatReply(query.subarray(0, end), type, answer), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    /** For `Resolver.setServers`. */
    address: `127.0.0.1:${socket.address().port}`,
    async close() {
      isOpen = false;
      socket.close();
      await once(socket, 'close');
    },
  };
}

function parseQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = HEADER_LENGTH;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** `question` is the query's header and question. */
function formatReply(question: Buffer, type: number, answer: Answer): Buffer {
  const [code, addresses] = typeof answer === 'string' ? [CODES[answer], []] : [0, answer];
  const reply = Buffer.from(question);
  reply.writeUInt16BE(RECURSIVE_REPLY + code, 2);
  // One question, the answers, and nothing else.
  for (const [index, count] of [1, addresses.length, 0, 0].entries())
    reply.writeUInt16BE(count, 4 + 2 * index);
  return Buffer.concat([reply, ...addresses.map((address) => formatRecord(type, address))]);
}

function formatRecord(type: number, address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray());
  const record = Buffer.alloc(RECORD_LENGTH);
  record.writeUInt16BE(NAME_POINTER, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4); // The class IN; the time to live is 0.
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
