import { once } from 'node:events';
import { createServer } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { createBodyReader } from '../../src/http/read-body.ts';
import { openUnread, type UnreadConnection } from '../abuse/support/unread.ts';
import { type RestRequest, rest } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';
import { getPort } from '../support/servers.ts';
import { member } from '../support/tokens.ts';

const path = '/user/notification-preferences';
const json = { 'Content-Type': 'application/json' };
/** JSON with a given number of bytes. */
const jsonOfSize = (bytes: number) => `{"preferences":[]${' '.repeat(bytes - 18)}}`;

const gateway = useGateway({ GRAPHIQL: 'true' });
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const put = (request: RestRequest) => rest(gateway, 'PUT', path, { token, ...request });

const unreadable: [what: string, message: string, request: RestRequest][] = [
  ['is not JSON', 'is not JSON', { raw: '{preferences: []}', headers: json }],
  ['is truncated', 'is not JSON', { raw: '{"preferences": [', headers: json }],
  ['has a comment', 'is not JSON', { raw: '{"preferences": []} // all', headers: json }],
  ['is not UTF-8', 'is not UTF-8', { raw: Uint8Array.from([0x7b, 0xff, 0x7d]), headers: json }],
  ['is empty', 'is empty', { raw: '', headers: json }],
  ['is white space', 'is not JSON', { raw: ' ', headers: json }],
  ['is larger than 1 MiB', 'is larger than 1048576 bytes', { raw: jsonOfSize(1_048_577), headers: json }],
  [
    'is larger than 1 MiB after inflation',
    'is larger than 1048576 bytes',
    compressed('gzip', gzipSync(jsonOfSize(1_048_577))),
  ],
  [
    'is not what its Content-Encoding says',
    'cannot be read',
    compressed('gzip', Buffer.from('{"preferences":[]}')),
  ],
  [
    'has an unsupported Content-Encoding',
    'has an unsupported Content-Encoding',
    { raw: '{"preferences":[]}', headers: { ...json, 'Content-Encoding': 'zip' } },
  ],
  [
    'has an unknown charset',
    'must be encoded in UTF-8',
    { raw: '{"preferences":[]}', headers: { 'Content-Type': 'application/json; charset=latin1' } },
  ],
  [
    'has no Content-Type',
    'must be sent with Content-Type: application/json',
    { raw: new TextEncoder().encode('{"preferences":[]}') },
  ],
  [
    'has another Content-Type',
    'must be sent with Content-Type: application/json',
    { raw: '{"preferences":[]}', headers: { 'Content-Type': 'text/plain' } },
  ],
  [
    'has a Content-Type with application/json as prefix',
    'must be sent with Content-Type: application/json',
    { raw: '{"preferences":[]}', headers: { 'Content-Type': 'application/json-patch+json' } },
  ],
  ['is nested one level too deeply', 'is nested deeper than 256 levels', { raw: nest(257), headers: json }],
  ['is nested very deeply', 'is nested deeper than 256 levels', { raw: nest(100_000), headers: json }],
];

/** A GraphQL request with this many nested levels. */
function nest(levels: number): string {
  const deep = `${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}`;
  return `{"query":"{ __typename }","extensions":{"deep":${deep}}}`;
}

function compressed(encoding: string, content: Buffer): RestRequest {
  return { raw: new Uint8Array(content), headers: { ...json, 'Content-Encoding': encoding } };
}

test.each(unreadable)('returns 400 for a body that %s', async (_what, message, request) => {
  const { status, body } = await put(request);

  expect(status).toBe(400);
  expect(body).toEqual({
    error: `The body ${message}.`,
    code: 'bad_request',
    errors: [{ location: 'body', message, value: null }],
  });
});

test.each(unreadable)(
  'returns 400 for a GraphQL request whose body %s',
  async (_what, message, { raw, headers }) => {
    const response = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${token}` },
      body: raw ?? '',
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      errors: [
        {
          message: `The body ${message}.`,
          extensions: { code: 'BAD_REQUEST', errors: [{ location: 'body', message, value: null }] },
        },
      ],
    });
  },
);

test.each<[what: string, request: RestRequest]>([
  ['of exactly 1 MiB', { raw: jsonOfSize(1_048_576), headers: json }],
  ['in br', compressed('br', brotliCompressSync('{"preferences":[]}'))],
  ['in deflate', compressed('deflate', deflateSync('{"preferences":[]}'))],
  ['in gzip', compressed('gzip', gzipSync('{"preferences":[]}'))],
  ['in GZIP', compressed('GZIP', gzipSync('{"preferences":[]}'))],
  ['in zstd', compressed('zstd', zstdCompressSync('{"preferences":[]}'))],
  ['in identity', compressed('identity', Buffer.from('{"preferences":[]}'))],
  [
    'with a charset',
    { raw: '{"preferences":[]}', headers: { 'Content-Type': 'application/json; charset=UTF-8' } },
  ],
  [
    'with an upper-case Content-Type',
    { raw: '{"preferences":[]}', headers: { 'Content-Type': 'APPLICATION/JSON' } },
  ],
])('reads a body %s', async (_what, request) => {
  expect((await put(request)).status).toBe(200);
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
  expect((await put(compressed('gzip', gzipSync('{"preferences":[]}')))).status).toBe(200);
});

test('reads a GraphQL request of 256 levels', async () => {
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { ...json, Authorization: `Bearer ${token}` },
    body: nest(256),
  });

  expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
});

const unread: [type: string, raw: string][] = [
  ['application/json', '{"unknown":'],
  ['text/plain; charset=nonsense', 'text'],
  ['application/json', jsonOfSize(2_000_000)],
];

test.each(unread)('dismissing and deleting ignore the body: %s', async (type, raw) => {
  const { id } = await publish(gateway, 'alice');
  const sent = { token, raw, headers: { 'Content-Type': type } };

  const dismissed = await rest(gateway, 'POST', `/user/notifications/${id}/dismiss`, sent);
  const deleted = await rest(gateway, 'DELETE', '/editor/auth', sent);

  expect([dismissed.status, deleted.status]).toEqual([200, 204]);
});

test.each(unread)('GET ignores the body: %s', async (type, raw) => {
  const lines = [`Authorization: Bearer ${token}`, `Content-Type: ${type}`, `Content-Length: ${raw.length}`];

  const { status } = await sendRaw(gateway, rawRequest('GET /user/workspaces', lines, raw));

  expect(status).toBe(200);
});

const introspection = '{"query":"{ __schema { __typename } }"}';
const postGraphQL = (raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
  fetch(`${gateway.address}/graphql`, { method: 'POST', headers: { ...json, ...headers }, body: raw });

test('without a token, a body has at most 16 KiB and is not compressed', async () => {
  const padded = (bytes: number) => introspection + ' '.repeat(bytes - introspection.length);

  expect((await postGraphQL(padded(16_384), {})).status).toBe(200);
  expect((await postGraphQL(padded(16_385), {})).status).toBe(401);
  const gzip = { 'Content-Encoding': 'gzip' };
  expect((await postGraphQL(new Uint8Array(gzipSync(introspection)), gzip)).status).toBe(401);
});

/** Begins requests whose bodies do not end. */
function beginBodies(count: number, bytes: number, token?: string): Promise<UnreadConnection[]> {
  const lines = ['Content-Type: application/json', `Content-Length: ${bytes}`];
  const start = token === undefined ? 'POST /graphql' : `PUT ${path}`;
  const request = rawRequest(
    start,
    token === undefined ? lines : [`Authorization: Bearer ${token}`, ...lines],
  );
  return Promise.all(Array.from({ length: count }, () => openUnread(gateway, request)));
}

const rejected = { status: 429, body: { error: expect.any(String), code: 'rate_limited', errors: [] } };

test('a caller whose unfinished bodies have 2 MiB receives 429 until they end; others do not', async () => {
  const connections = await beginBodies(2, 1_048_576, token);

  const request = { raw: '{"preferences":[]}', headers: json };
  const reply = await eventually(async () => {
    const reply = await put(request);
    expect(reply).toMatchObject(rejected);
    return reply;
  });
  expect(reply.headers.get('Retry-After')).toBe('1');
  const overGraphQL = await postGraphQL('{"query":"{ __typename }"}', { Authorization: `Bearer ${token}` });
  expect([overGraphQL.status, overGraphQL.headers.get('Retry-After')]).toEqual([429, '1']);
  expect((await put({ ...request, token: await member('bob') })).status).toBe(200);

  for (const connection of connections) connection.close();
  await eventually(async () => expect((await put(request)).status).toBe(200));
});

test('a chunked body counts as it grows, and is released when it ends', async () => {
  const lines = [
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  ];
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const body = jsonOfSize(1_048_576);
  const request = rawRequest(`PUT ${path}`, lines, chunk(body));
  const connections = await Promise.all([openUnread(gateway, request), openUnread(gateway, request)]);

  await eventually(async () => expect((await put({ raw: jsonOfSize(100), headers: json })).status).toBe(429));
  for (const connection of connections) connection.send('0\r\n\r\n');
  for (const connection of connections) expect(await connection.readAll()).toContain('HTTP/1.1 200');
  expect((await put({ raw: jsonOfSize(1_048_576), headers: json })).status).toBe(200);
});

test('callers without a token whose unfinished bodies have 8 MiB receive 429 together; others do not', async () => {
  const connections = await beginBodies(512, 16_384);

  await eventually(async () => {
    const { status, headers } = await postGraphQL(introspection, {});
    expect([status, headers.get('Retry-After')]).toEqual([429, '1']);
  });
  expect((await put({ raw: '{"preferences":[]}', headers: json })).status).toBe(200);
  for (const connection of connections) connection.close();
});

test('replies with 500 and Retry-After while the unfinished bodies of all callers have 64 MiB', async () => {
  const callers = Array.from({ length: 32 }, (_none, index) => member(`caller-${index}`));
  const connections = await Promise.all(
    callers.map(async (caller) => beginBodies(2, 1_048_576, await caller)),
  );

  const request = { raw: '{"preferences":[]}', headers: json };
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
    const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];

    const { status, text } = await sendRaw(gateway, rawRequest(start, lines));

    expect([status, text]).toEqual([400, expect.stringContaining('The body is empty.')]);
  },
);
