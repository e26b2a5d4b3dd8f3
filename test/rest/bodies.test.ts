import { once } from 'node:events';
import { createServer } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createBodyReader } from '../../src/http/read-body.ts';
import { openUnread, type UnreadConnection } from '../abuse/support/unread.ts';
import type { RestRequest } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';
import { getPort } from '../support/servers.ts';
import { member } from '../support/tokens.ts';

const path = '/user/notification-preferences';
const NO_TYPE = 'must be sent with Content-Type: application/json';
const json = { 'Content-Type': 'application/json' };
/** JSON with a given number of bytes. */
const jsonOfSize = (bytes: number) => `{"preferences":[]${' '.repeat(bytes - 18)}}`;

const gateway = useGateway({ GRAPHIQL: 'true' });
const alice = gateway.as('alice');
const put = (request: RestRequest, caller = alice) => caller.rest.put(path, undefined, request);

/** Sends a body to the GraphQL API, as alice unless the headers say otherwise. */
const postGraphQL = async ({ raw = '', headers }: RestRequest, isAlice = true) =>
  fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { ...headers, ...(isAlice && { Authorization: `Bearer ${await member('alice')}` }) },
    body: raw,
  });

const empty = '{"preferences":[]}';
const asJson = (raw: string | Uint8Array<ArrayBuffer>): RestRequest => ({ raw, headers: json });
const withType = (type: string): RestRequest => ({ raw: empty, headers: { 'Content-Type': type } });
const compressed = (encoding: string, content: Buffer): RestRequest => ({
  raw: new Uint8Array(content),
  headers: { ...json, 'Content-Encoding': encoding },
});

/** A GraphQL request with this many nested levels. */
function nest(levels: number): string {
  const deep = `${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}`;
  return `{"query":"{ __typename }","extensions":{"deep":${deep}}}`;
}

test.each<[what: string, message: string, request: RestRequest]>([
  ['is not JSON', 'is not JSON', asJson('{preferences: []}')],
  ['is truncated', 'is not JSON', asJson('{"preferences": [')],
  ['has a comment', 'is not JSON', asJson(`${empty} // all`)],
  ['is not UTF-8', 'is not UTF-8', asJson(Uint8Array.from([0x7b, 0xff, 0x7d]))],
  ['is empty', 'is empty', asJson('')],
  ['is white space', 'is not JSON', asJson(' ')],
  ['is larger than 1 MiB', 'is larger than 1048576 bytes', asJson(jsonOfSize(1_048_577))],
  [
    'is larger than 1 MiB after inflation',
    'is larger than 1048576 bytes',
    compressed('gzip', gzipSync(jsonOfSize(1_048_577))),
  ],
  ['is not what its Content-Encoding says', 'cannot be read', compressed('gzip', Buffer.from(empty))],
  [
    'has an unsupported Content-Encoding',
    'has an unsupported Content-Encoding',
    compressed('zip', Buffer.from(empty)),
  ],
  ['has an unknown charset', 'must be encoded in UTF-8', withType('application/json; charset=latin1')],
  ['has no Content-Type', NO_TYPE, { raw: new TextEncoder().encode(empty) }],
  ['has another Content-Type', NO_TYPE, withType('text/plain')],
  ['has application/json as prefix of its type', NO_TYPE, withType('application/json-patch+json')],
  ['is nested one level too deeply', 'is nested deeper than 256 levels', asJson(nest(257))],
  ['is nested very deeply', 'is nested deeper than 256 levels', asJson(nest(100_000))],
])('returns 400 for a body that %s, over both APIs', async (_what, message, request) => {
  const errors = [{ location: 'body', message, value: null }];
  const { status, body } = await put(request);
  expect(status).toBe(400);
  expect(body).toEqual({ error: `The body ${message}.`, code: 'bad_request', errors });

  const reply = await postGraphQL(request);
  expect(reply.status).toBe(400);
  const extensions = { code: 'BAD_REQUEST', errors };
  expect(await reply.json()).toEqual({ errors: [{ message: `The body ${message}.`, extensions }] });
});

test.each<[what: string, request: RestRequest]>([
  ['of exactly 1 MiB', asJson(jsonOfSize(1_048_576))],
  ['in br', compressed('br', brotliCompressSync(empty))],
  ['in deflate', compressed('deflate', deflateSync(empty))],
  ['in gzip', compressed('gzip', gzipSync(empty))],
  ['in GZIP', compressed('GZIP', gzipSync(empty))],
  ['in zstd', compressed('zstd', zstdCompressSync(empty))],
  ['in identity', compressed('identity', Buffer.from(empty))],
  ['with a charset', withType('application/json; charset=UTF-8')],
  ['with an upper-case Content-Type', withType('APPLICATION/JSON')],
])('reads a body %s', async (_what, request) => {
  expect((await put(request)).status).toBe(200);
});

test('reads a GraphQL request of 256 levels', async () => {
  expect(await (await postGraphQL(asJson(nest(256)))).json()).toEqual({ data: { __typename: 'Query' } });
});

test('rejects compressed bodies that are invalid just after the limit, and keeps running', async () => {
  // Hardly compressible, so that a position in the content has a position in the compressed body.
  const words = Array.from({ length: 160_000 }, (_, index) =>
    ((index * 2_654_435_761) % 2 ** 32).toString(16),
  );
  const content = words.join('');
  const body = gzipSync(content);
  const statuses: number[] = [];

  for (let position = 1_040_000; position < 1_200_000; position += 4000) {
    const invalid = Buffer.from(body);
    const start = Math.floor((position / content.length) * body.length);
    invalid.fill(0xff, start, start + 64);
    statuses.push((await put(compressed('gzip', invalid))).status);
  }

  expect(new Set(statuses)).toEqual(new Set([400]));
  expect((await put(compressed('gzip', gzipSync(empty)))).status).toBe(200);
});

const unread: [type: string, raw: string][] = [
  ['application/json', '{"unknown":'],
  ['text/plain; charset=nonsense', 'text'],
  ['application/json', jsonOfSize(2_000_000)],
];

test.each(unread)('dismissing and deleting ignore the body: %s', async (type, raw) => {
  const { id } = await publish(gateway, 'alice');
  const sent = { raw, headers: { 'Content-Type': type } };

  expect((await alice.rest.post(`/user/notifications/${id}/dismiss`, undefined, sent)).status).toBe(200);
  expect((await alice.rest.delete('/editor/auth', sent)).status).toBe(204);
});

test.each(unread)('GET ignores the body: %s', async (type, raw) => {
  const authorization = `Authorization: Bearer ${await member('alice')}`;
  const lines = [authorization, `Content-Type: ${type}`, `Content-Length: ${raw.length}`];
  expect((await sendRaw(gateway, rawRequest('GET /user/workspaces', lines, raw))).status).toBe(200);
});

const introspection = '{"query":"{ __schema { __typename } }"}';

test('without a token, a body has at most 16 KiB and is not compressed', async () => {
  const send = async (request: RestRequest) => (await postGraphQL(request, false)).status;

  expect(await send(asJson(introspection.padEnd(16_384)))).toBe(200);
  expect(await send(asJson(introspection.padEnd(16_385)))).toBe(401);
  expect(await send(compressed('gzip', gzipSync(introspection)))).toBe(401);
});

/** Begins requests whose bodies do not end. */
async function beginBodies(count: number, bytes: number, user?: string): Promise<UnreadConnection[]> {
  const lines = ['Content-Type: application/json', `Content-Length: ${bytes}`];
  const request =
    user === undefined
      ? rawRequest('POST /graphql', lines)
      : rawRequest(`PUT ${path}`, [`Authorization: Bearer ${await member(user)}`, ...lines]);
  return Promise.all(Array.from({ length: count }, () => openUnread(gateway, request)));
}

const rejected = { status: 429, body: { error: expect.any(String), code: 'rate_limited', errors: [] } };

test('a caller whose unfinished bodies have 2 MiB receives 429 until they end; others do not', async () => {
  const connections = await beginBodies(2, 1_048_576, 'alice');

  const request = asJson(empty);
  const reply = await eventually(async () => {
    const reply = await put(request);
    expect(reply).toMatchObject(rejected);
    return reply;
  });
  expect(reply.headers.get('Retry-After')).toBe('1');
  const overGraphQL = await postGraphQL(asJson('{"query":"{ __typename }"}'));
  expect([overGraphQL.status, overGraphQL.headers.get('Retry-After')]).toEqual([429, '1']);
  expect((await put(request, gateway.as('bob'))).status).toBe(200);

  for (const connection of connections) connection.close();
  await eventually(async () => expect((await put(request)).status).toBe(200));
});

test('a chunked body counts as it grows, and is released when it ends', async () => {
  const authorization = `Authorization: Bearer ${await member('alice')}`;
  const lines = [authorization, 'Content-Type: application/json', 'Transfer-Encoding: chunked'];
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const body = jsonOfSize(1_048_576);
  const request = rawRequest(`PUT ${path}`, lines, chunk(body));
  const connections = await Promise.all([openUnread(gateway, request), openUnread(gateway, request)]);

  await eventually(async () => expect((await put(asJson(jsonOfSize(100)))).status).toBe(429));
  for (const connection of connections) connection.send('0\r\n\r\n');
  for (const connection of connections) expect(await connection.readAll()).toContain('HTTP/1.1 200');
  expect((await put(asJson(jsonOfSize(1_048_576)))).status).toBe(200);
});

test('callers without a token whose unfinished bodies have 8 MiB receive 429 together; others do not', async () => {
  const connections = await beginBodies(512, 16_384);

  await eventually(async () => {
    const { status, headers } = await postGraphQL(asJson(introspection), false);
    expect([status, headers.get('Retry-After')]).toEqual([429, '1']);
  });
  expect((await put(asJson(empty))).status).toBe(200);
  for (const connection of connections) connection.close();
});

test('replies with 500 and Retry-After while the unfinished bodies of all callers have 64 MiB', async () => {
  const connections = await Promise.all(
    Array.from({ length: 32 }, (_none, index) => beginBodies(2, 1_048_576, `caller-${index}`)),
  );

  const request = asJson(empty);
  await eventually(async () => {
    const { status, body, headers } = await put(request);
    expect([status, body.code, headers.get('Retry-After')]).toEqual([500, 'internal_error', '1']);
  });
  for (const connection of connections.flat()) connection.close();
  await eventually(async () => expect((await put(request)).status).toBe(200));
});

test('a body whose client has disconnected cannot be read, and does not count', async () => {
  const readBody = createBodyReader();
  const limits = { caller: 'alice', maxBytes: 1000, maxCallerBytes: 1000, allowsCompression: true };
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${getPort(server)}`;
  const readLate = async () => {
    const connection = await openUnread({ address }, rawRequest('POST /', ['Content-Length: 1000']));
    const [request] = await once(server, 'request');
    connection.close();
    await new Promise((resolve) => request.on('close', resolve));
    return readBody(request, limits);
  };

  await expect(readLate()).rejects.toThrow('The body cannot be read.');
  await expect(readLate()).rejects.toThrow('The body cannot be read.');
  server.close();
});

test.each(['POST /graphql', `PUT ${path}`])(
  '%s without Content-Length and Transfer-Encoding has an empty body',
  async (start) => {
    const lines = [`Authorization: Bearer ${await member('alice')}`, 'Content-Type: application/json'];

    const { status, text } = await sendRaw(gateway, rawRequest(start, lines));

    expect([status, text]).toEqual([400, expect.stringContaining('The body is empty.')]);
  },
);
