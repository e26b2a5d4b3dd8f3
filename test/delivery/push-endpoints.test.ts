import type { LookupOptions } from 'node:dns';
import { lookup as lookupBySystem, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { BlockList, connect, type LookupFunction } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createPublicLookup, findEndpointIssue, isPublicAddress } from '../../src/delivery/push/endpoint.ts';
import type { PostResult } from '../../src/delivery/push/post.ts';
import { classifyPostResult } from '../../src/delivery/push/post.ts';
import { type Answer, type Records, startNameServer } from './name-server.ts';

/** Networks without public addresses: those of IANA's special-purpose registries, and unassigned or obsolete ones. */
const networks: readonly [name: string, network: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['this host', '0.0.0.0', 8, 'ipv4'],
  ['private', '10.0.0.0', 8, 'ipv4'],
  ['shared (CGNAT)', '100.64.0.0', 10, 'ipv4'],
  ['loopback', '127.0.0.0', 8, 'ipv4'],
  ['link-local, cloud metadata', '169.254.0.0', 16, 'ipv4'],
  ['private', '172.16.0.0', 12, 'ipv4'],
  ['IETF protocols', '192.0.0.0', 24, 'ipv4'],
  ['documentation', '192.0.2.0', 24, 'ipv4'],
  ['6to4 relays', '192.88.99.0', 24, 'ipv4'],
  ['private', '192.168.0.0', 16, 'ipv4'],
  ['benchmarks', '198.18.0.0', 15, 'ipv4'],
  ['documentation', '198.51.100.0', 24, 'ipv4'],
  ['documentation', '203.0.113.0', 24, 'ipv4'],
  ['multicast', '224.0.0.0', 4, 'ipv4'],
  ['reserved, broadcast', '240.0.0.0', 4, 'ipv4'],
  ['unspecified, loopback, IPv4-compatible, IPv4-mapped', '::', 8, 'ipv6'],
  ['NAT64', '64:ff9b::', 96, 'ipv6'],
  ['local NAT64', '64:ff9b:1::', 48, 'ipv6'],
  ['discard', '100::', 64, 'ipv6'],
  ['IETF protocols, Teredo', '2001::', 23, 'ipv6'],
  ['documentation', '2001:db8::', 32, 'ipv6'],
  ['6to4', '2002::', 16, 'ipv6'],
  ['documentation', '3fff::', 20, 'ipv6'],
  ['segment routing', '5f00::', 16, 'ipv6'],
  ['unassigned', '4000::', 2, 'ipv6'],
  ['unassigned', '8000::', 1, 'ipv6'],
  ['unique-local', 'fc00::', 7, 'ipv6'],
  ['link-local', 'fe80::', 10, 'ipv6'],
  ['site-local', 'fec0::', 10, 'ipv6'],
  ['multicast', 'ff00::', 8, 'ipv6'],
];

/** Any address. */
const anyV4 = fc.ipV4();
const anyV6 = fc.ipV6();

function createNetwork([, network, prefix, family]: (typeof networks)[number]): BlockList {
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  return list;
}

describe('public addresses', () => {
  test.each(networks)('no address of a network is public: %s, %s/%i', (...row) => {
    const [, network, prefix, family] = row;
    const bits = family === 'ipv4' ? 32 : 128;
    const list = createNetwork(row);
    const base = toNumber(network, family);
    const host = fc.bigInt({ min: 0n, max: (1n << BigInt(bits - prefix)) - 1n });
    fc.assert(
      fc.property(host, (offset) => {
        const address = toAddress(base + offset, family);
        expect(list.check(address, family)).toBe(true);
        expect([address, isPublicAddress(address)]).toEqual([address, false]);
      }),
    );
  });

  test.each([
    ...[
      '1.1.1.1',
      '8.8.8.8',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
    ],
    ...['128.0.0.1', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255'],
    ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255', '17.188.143.36', '142.250.74.42'],
    ...['2606:4700::1111', '2a00:1450:4001:82a::200a', '2620:149:af0::10', '2400::1', '2003::1', '3ffe::1'],
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test('an address is public only outside of these networks', () => {
    const lists = networks.map((row) => ({ family: row[3], list: createNetwork(row) }));
    const isSpecial = (address: string, family: 'ipv4' | 'ipv6') =>
      lists.some((entry) => entry.family === family && entry.list.check(address, family));
    fc.assert(fc.property(anyV4, (address) => !(isPublicAddress(address) && isSpecial(address, 'ipv4'))));
    fc.assert(fc.property(anyV6, (address) => !(isPublicAddress(address) && isSpecial(address, 'ipv6'))));
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
      fc.property(anyV4, (address) => {
        expect(embed(address).filter(isPublicAddress)).toEqual([]);
      }),
    );
  });

  test.each([
    '',
    'localhost',
    '127.1',
    '2130706433',
    '0x7f.1',
    'fe80::1%eth0',
    '[::1]',
    '1.1.1.1.',
    '1.1.1.1/8',
  ])('%j is not a public address', (text) => {
    expect(isPublicAddress(text)).toBe(false);
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

  test.each([
    ['', 'must be an https URL'],
    ['fcm.googleapis.com/x', 'must be an https URL'],
    ['http://push.internal/x', 'must be an https URL'],
    ['ftp://fcm.googleapis.com/x', 'must be an https URL'],
    ['https://', 'must be an https URL'],
    ['https://user@fcm.googleapis.com/x', 'must not contain a user name or password'],
    ['https://push.internal:x@push.internal/x', 'must not contain a user name or password'],
    ['https://fcm.googleapis.com:8443/x', 'must use port 443'],
    ['https://push.internal:8443/x', 'must use port 443'],
    ['https://localhost:8444/x', 'must use port 443'],
    ['https://127.0.0.1/x', 'must have a public address'],
    ['https://127.1/x', 'must have a public address'],
    ['https://2130706433/x', 'must have a public address'],
    ['https://0x7f.0.0.1/x', 'must have a public address'],
    ['https://0177.0.0.1/x', 'must have a public address'],
    ['https://127.0.0.1./x', 'must have a public address'],
    ['https://１２７.0.0.1/x', 'must have a public address'],
    ['https://169.254.169.254/latest', 'must have a public address'],
    ['https://10.0.0.2/x', 'must have a public address'],
    ['https://[::1]/x', 'must have a public address'],
    ['https://[::ffff:127.0.0.1]/x', 'must have a public address'],
    ['https://[::ffff:8.8.8.8]/x', 'must have a public address'],
    ['https://[fd00::1]/x', 'must have a public address'],
    [`https://push.internal/${'x'.repeat(2048)}`, 'must have at most 2048 characters'],
  ])('%s is refused: %s', (endpoint, issue) => {
    expect(findEndpointIssue(endpoint, allowed)).toBe(issue);
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
    [
      'all of either family',
      { all: true, family: 0 },
      { address: at('8.8.8.8', '9.9.9.9', '2606:4700::1111') },
    ],
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

describe('classification', () => {
  const now = Date.parse('2026-01-31T09:30:00.000Z');
  const reply = (status: number, retryAfter?: string): PostResult => ({ kind: 'reply', status, retryAfter });
  const error = (code: string, wasSent: boolean, isAborted = false): PostResult => ({
    kind: 'error',
    code,
    wasSent,
    isAborted,
  });
  const rejected = { kind: 'failed', suspendTarget: false, reason: 'message_rejected' };
  const removed = { kind: 'failed', suspendTarget: true, reason: 'recipient_rejected' };
  const unavailable = { kind: 'unavailable', needsOperator: false, reason: 'provider_unavailable' };
  const delayed = { kind: 'retry', reason: 'provider_unavailable' };
  const refused = { kind: 'unavailable', needsOperator: true, reason: 'provider_refused' };

  test.each<[what: string, result: PostResult, outcome: object]>([
    ['200', reply(200), { kind: 'delivered' }],
    ['201', reply(201), { kind: 'delivered' }],
    ['202', reply(202), { kind: 'delivered' }],
    ['a redirect', reply(307), { ...rejected, providerCode: '307' }],
    ['400', reply(400), { ...rejected, providerCode: '400' }],
    ['401', reply(401), { ...refused, providerCode: '401' }],
    ['403', reply(403), { ...refused, providerCode: '403' }],
    ['404', reply(404), { ...removed, providerCode: '404' }],
    ['408', reply(408), { ...delayed, providerCode: '408' }],
    ['410', reply(410), { ...removed, providerCode: '410' }],
    ['413', reply(413), { ...rejected, providerCode: '413' }],
    ['425 with Retry-After', reply(425, '5'), { ...delayed, providerCode: '425', retryAfterSeconds: 5 }],
    ['429', reply(429), { kind: 'retry', reason: 'rate_limited', providerCode: '429' }],
    [
      '429 with Retry-After',
      reply(429, '120'),
      { kind: 'retry', reason: 'rate_limited', providerCode: '429', retryAfterSeconds: 120 },
    ],
    ['500', reply(500), { ...unavailable, providerCode: '500', isUnclear: true }],
    [
      '503 with a date',
      reply(503, 'Sat, 31 Jan 2026 09:31:30 GMT'),
      { ...unavailable, providerCode: '503', retryAfterSeconds: 90 },
    ],
    ['an unknown host', error('ENOTFOUND', false), { ...unavailable, providerCode: 'ENOTFOUND' }],
    ['a refused connection', error('ECONNREFUSED', false), { ...unavailable, providerCode: 'ECONNREFUSED' }],
    [
      'an expired certificate',
      error('CERT_HAS_EXPIRED', false),
      { ...unavailable, providerCode: 'CERT_HAS_EXPIRED' },
    ],
    [
      'a time-out while connecting',
      error('ABORT_ERR', false, true),
      { ...unavailable, providerCode: 'ABORT_ERR' },
    ],
    [
      'a time-out after the message was sent',
      error('ABORT_ERR', true, true),
      { ...unavailable, reason: 'reply_lost', providerCode: 'ABORT_ERR' },
    ],
    [
      'a connection lost after the message was sent',
      error('ECONNRESET', true),
      { kind: 'retry', reason: 'reply_lost', providerCode: 'ECONNRESET' },
    ],
  ])('%s', (_what, result, outcome) => {
    expect(classifyPostResult(result, now)).toEqual(outcome);
  });
});

function toNumber(address: string, family: 'ipv4' | 'ipv6'): bigint {
  if (family === 'ipv4') return BigInt(Buffer.from(address.split('.').map(Number)).readUInt32BE());
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill('0');
  return [...(first ?? []), ...zeros, ...(last ?? [])].reduce(
    (sum, group) => (sum << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

function toAddress(number: bigint, family: 'ipv4' | 'ipv6'): string {
  const [groups, bits] = family === 'ipv4' ? [4, 8n] : [8, 16n];
  const parts = Array.from({ length: groups }, (_none, index) => {
    const part = (number >> (BigInt(groups - 1 - index) * bits)) & ((1n << bits) - 1n);
    return family === 'ipv4' ? String(part) : part.toString(16);
  });
  return parts.join(family === 'ipv4' ? '.' : ':');
}
