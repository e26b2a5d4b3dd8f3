import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeouts } from '../../src/server/connections.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { member } from '../support/tokens.ts';

/** Short enough for a test, long enough for a regular client on a busy machine. */
const shortTimeouts = {
  headersTimeout: 1000,
  requestTimeout: 1500,
  keepAliveTimeout: 500,
  connectionsCheckingInterval: 50,
  stalledWriteTimeout: 500,
};

let gateway: TestGateway;
/** Tokens of different users, because the unfinished bodies of one user are limited together. */
let tokens: string[];
beforeAll(async () => {
  gateway = await startTestGateway({}, undefined, shortTimeouts);
  tokens = await Promise.all(Array.from({ length: 50 }, (_none, index) => member(`user-${index}`)));
});
afterAll(() => gateway.close());

/** Generous: connections should be closed after about three seconds. */
const timeout = 10_000;

/** The start of a request, to which header lines or a body can be added. */
const head = (start: string, ...lines: string[]) =>
  [`${start} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${tokens.pop()}`, ...lines, ''].join('\r\n');
const json = 'Content-Type: application/json';
const put = (...lines: string[]) => `${head('PUT /user/notification-preferences', json, ...lines)}\r\n`;
const get = (...lines: string[]) => `${head('GET /user/workspaces', ...lines)}\r\n`;
const chunked = 'Transfer-Encoding: chunked';
const bigChunk = `30D40\r\n${' '.repeat(200_000)}\r\n`;

/**
 * Opens a connection that the client never closes, sends `first`, and then `drip` repeatedly. Without `drip` it writes
 * nothing until the gateway has closed its side. `closed` resolves with everything received when the gateway has closed
 * both directions.
 */
async function openHalfOpen(first: string, drip?: string): Promise<{ closed: Promise<string> }> {
  const { hostname, port } = new URL(gateway.address);
  // The connection stays open after the gateway's FIN, because a client may keep its own side open.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.on('error', () => undefined);
  socket.write(first);
  // Only a write reveals whether the other side is still open.
  const dripping = setInterval(() => {
    if (drip !== undefined || socket.readableEnded) socket.write(drip ?? '.');
  }, 20);
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => {
      clearInterval(dripping);
      resolve(text);
    });
  });
  return { closed };
}

const slowClients: [what: string, first: () => string, drip?: string][] = [
  ['sends nothing', () => ''],
  ['sends its request line byte by byte', () => 'GET /', 'a'],
  ['sends header after header', () => head('GET /user/workspaces'), 'X-A: b\r\n'],
  ['sends its body byte by byte', () => put('Content-Length: 100000'), ' '],
  ['sends a chunked body chunk by chunk', () => put(chunked), '1\r\n \r\n'],
  ['announces a body and sends none', () => put('Content-Length: 10')],
  ['sends an ignored body byte by byte', () => get('Content-Length: 100000'), ' '],
  ['sends a body far above the limit', () => put('Content-Length: 99999999999'), ' '.repeat(200_000)],
  ['sends an endless chunked body', () => put(chunked), bigChunk],
];

test.concurrent.each(slowClients)(
  'disconnects a client that %s, even if it never closes, and serves others meanwhile',
  { timeout },
  async (_what, first, drip) => {
    const opening = Array.from({ length: 3 }, () => openHalfOpen(first(), drip));
    const clients = await Promise.all(opening);

    expect((await gateway.as('alice').rest.get('/user/workspaces')).status).toBe(200);
    await Promise.all(clients.map(({ closed }) => closed));
  },
);

test.concurrent.each<[what: string, first: () => string, drip: string]>([
  ['headers', () => head('GET /user/workspaces'), 'X-A: b\r\n'],
  ['body parts', () => put('Content-Length: 100000'), ' '],
])('returns 400 to a client whose %s arrive too slowly', { timeout }, async (_what, first, drip) => {
  const text = await (await openHalfOpen(first(), drip)).closed;

  expect(text).toMatch(/^HTTP\/1.1 400 /);
  expect(JSON.parse(text.slice(text.indexOf('{')))).toEqual({
    error: 'The request took too long to arrive.',
    code: 'bad_request',
    errors: [{ location: 'request', message: 'took too long to arrive', value: null }],
  });
});

const tooLarge = 'is larger than 1048576 bytes';

test.concurrent.each<[when: string, reply: string, first: () => string, drip?: string]>([
  ['with 400 to a Content-Length above the limit', tooLarge, () => put('Content-Length: 99999999999'), ' '],
  ['with 400 to an endless chunked body', tooLarge, () => put(chunked), bigChunk],
  [
    'with 400 to an endless chunked body with Content-Encoding',
    tooLarge,
    () => put(chunked, 'Content-Encoding: gzip'),
    bigChunk,
  ],
  ['to a request whose body is ignored', '{"workspaces":[]}', () => get('Content-Length: 100000'), ' '],
  ['to an idle connection, which is closed', '{"workspaces":[]}', () => get()],
])('replies immediately and only once %s', { timeout }, async (_when, reply, first, drip) => {
  const text = await (await openHalfOpen(first(), drip)).closed;

  expect(text).toContain(reply);
  expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
});

test('by default slow clients are disconnected within a minute, and idle connections outlive those of proxies', () => {
  expect(timeouts.headersTimeout).toBeLessThanOrEqual(timeouts.requestTimeout);
  expect(timeouts.requestTimeout + timeouts.connectionsCheckingInterval).toBeLessThan(60_000);
  expect(timeouts.keepAliveTimeout).toBeGreaterThan(60_000);
});
