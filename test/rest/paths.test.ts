import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';
import { checkAgainstSpecification } from '../support/specification.ts';
import { member } from '../support/tokens.ts';

const notFound = { error: 'Not found.', code: 'not_found', errors: [] };
const idMessage = 'must be 1 to 255 characters without control characters';

const gateway = useGateway();
const alice = gateway.as('alice');
const authorize = async () => `Authorization: Bearer ${await member('alice')}`;

/** Sends a path unchanged; fetch would resolve dots and encode characters. */
async function send(start: string) {
  const [method = '', target = ''] = start.split(' ');
  const path = target.replace('http://gateway.test', '');
  const reply = await sendRaw(gateway, rawRequest(start, [await authorize()]));
  checkAgainstSpecification({ method, path }, reply);
  return { status: reply.status, body: JSON.parse(reply.text) };
}

test.each([
  'GET /',
  'GET /nowhere',
  'GET /user/workspaces/',
  'GET //user/workspaces',
  'GET /user//workspaces',
  'GET /user/WORKSPACES',
  'GET /user%2Fworkspaces',
  'GET /v1/user/workspaces',
  'GET /user/../user/workspaces',
  'GET /user/workspaces;a=b',
  'POST /user/workspaces',
  'GET /editor/auth/subscription',
  'GET /user/notifications/x/dismiss',
  'POST /user/notifications/x/dismiss/',
  'POST /user/notifications/x/y/dismiss',
  'POST /user/notifications//x/dismiss',
  'GET /answer',
  'PUT /answer/x',
  'GET /unsubscribe',
  'GET /unsubscribe/x/',
  'OPTIONS /user/workspaces',
  'OPTIONS *',
  'TRACE /user/workspaces',
])('returns 404: %s, with and without a token', async (start) => {
  expect(await send(start)).toEqual({ status: 404, body: notFound });
  const { status, text } = await sendRaw(gateway, rawRequest(start));
  expect([status, JSON.parse(text)]).toEqual([404, notFound]);
});

test('accepts an absolute URL in place of the path, as sent by proxies (RFC 9112, section 3.2.2)', async () => {
  const { id } = await publish(gateway, 'alice', 'task_failed', { id: 'as a proxy' });
  const address = 'http://gateway.test/user/notifications/as%20a%20proxy/dismiss?a=http://b/c';
  expect(await send(`POST ${address}`)).toMatchObject({ status: 200, body: { notification: { id } } });
  // Without a path, it is the root path.
  expect(await send('GET http://gateway.test?a=b')).toEqual({ status: 404, body: notFound });
});

test.each(['gateway.test', 'gateway.test:4000', ''])(
  'accepts an absolute URL of GraphQL, with the Host header "%s"',
  async (host) => {
    const body = JSON.stringify({ query: '{ __typename }' });
    const framing = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    const request = rawRequest(
      'POST http://gateway.test:4000/graphql',
      [...framing, await authorize()],
      body,
    ).replace('Host: gateway.test', `Host: ${host}`);
    const { status, text } = await sendRaw(gateway, request);
    expect([status, JSON.parse(text)]).toEqual([200, { data: { __typename: 'Query' } }]);
  },
);

test('HEAD returns the same as GET without the body (RFC 9110, section 9.3.2)', async () => {
  const lines = [await authorize()];
  const get = await sendRaw(gateway, rawRequest('GET /user/workspaces', lines));
  const head = await sendRaw(gateway, rawRequest('HEAD /user/workspaces', lines));
  const nowhere = await sendRaw(gateway, rawRequest('HEAD /nowhere', lines));

  expect([head.status, head.headers.get('content-length'), head.text]).toEqual([
    200,
    get.headers.get('content-length'),
    '',
  ]);
  expect([nowhere.status, nowhere.text]).toEqual([404, '']);
});

test.each([
  ['is empty', '', ''],
  ['has 256 characters', 'a'.repeat(256), 'a'.repeat(256)],
  ['has U+0000', 'a%00b', 'a\0b'],
  ['has a control character of Latin-1', 'a%C2%85b', 'a\u0085b'],
])('returns 422 at path.id for an ID that %s', async (_what, encoded, value) => {
  const { status, body } = await send(`POST /user/notifications/${encoded}/dismiss`);

  expect([status, body.errors]).toEqual([422, [{ location: 'path.id', message: idMessage, value }]]);
});

test.each(['%', '%zz', '%E0%A4%A', '%FF', '%ED%A0%80'])(
  'returns 400 at path.id for the undecodable ID %s',
  async (value) => {
    const { status, body } = await send(`POST /user/notifications/${value}/dismiss`);
    expect([status, body.code]).toEqual([400, 'bad_request']);
    expect(body.errors).toEqual([{ location: 'path.id', message: 'must be percent-encoded UTF-8', value }]);
  },
);

test.each([
  ['a slash, percent and plus', 'a/100%+1'],
  ['dots only', '..'],
  ['255 characters of any script', '用'.repeat(255)],
  ['the name of a path segment', 'dismiss'],
  ['the name of a property of every object', '__proto__'],
])('accepts an ID with %s', async (_what, id) => {
  await publish(gateway, 'alice', 'task_failed', { id });

  const { status, body } = await send(
    `POST /user/notifications/${encodeURIComponent(id).replaceAll('.', '%2E')}/dismiss`,
  );

  expect([status, body.notification?.id]).toEqual([200, id]);
});

const limitRule = 'must be a whole number from 1 to 2147483647';
const offsetRule = 'must be a whole number from 0 to 2147483647';

test.each<[query: string, location: string, message: string, value: unknown]>([
  ...['', 'ten', '1e3', '0x10', ' 1', '\u0661', '1?x'].map((value): [string, string, string, string] => [
    `limit=${encodeURIComponent(value).replace('%3F', '?')}`,
    'query.limit',
    limitRule,
    value,
  ]),
  ['limit', 'query.limit', limitRule, ''],
  ['limit=1&limit=2', 'query.limit', 'must not be repeated', ['1', '2']],
  ['offset=', 'query.offset', offsetRule, ''],
  ['offset=0&offset=0', 'query.offset', 'must not be repeated', ['0', '0']],
])('returns 400 on every list for ?%s', async (query, location, message, value) => {
  for (const path of ['/user/notifications', '/user/workspaces']) {
    const { status, body } = await alice.rest.get(`${path}?${query}`);

    expect([status, body.code]).toEqual([400, 'bad_request']);
    expect(body.errors).toEqual([{ location, message, value }]);
  }
});

test('reports all errors in the query at once', async () => {
  const query = 'limit=x&offset=y&status=z&status=active&kind=';
  const { body } = await alice.rest.get(`/user/notifications?${query}`);

  expect(body.errors.map(({ location }: { location: string }) => location).sort()).toEqual([
    'query.kind',
    'query.limit',
    'query.offset',
    'query.status',
  ]);
});

test.each(['limit=2147483647', 'offset=2147483647', 'LIMIT=0', 'unknown=%zz', '?', '&&=='])(
  'accepts the unusual query %s',
  async (query) => {
    expect((await alice.rest.get(`/user/workspaces?${query}`)).status).toBe(200);
  },
);

const get = 'GET /user/workspaces';
const put = 'PUT /editor/auth/subscription';

test.each([
  ['is not HTTP', 'garbage\r\n\r\n', 'is not valid HTTP'],
  ['has an unknown method', 'BREW /user/workspaces HTTP/1.1\r\nHost: a\r\n\r\n', 'is not valid HTTP'],
  ['has an unknown version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n', 'is not valid HTTP'],
  ['has a header without a name', rawRequest(get, [': value']), 'is not valid HTTP'],
  ['has a header with a control character', rawRequest(get, ['X-A: a\u0001b']), 'is not valid HTTP'],
  [
    'has headers that are too large',
    rawRequest(get, [`X-A: ${'a'.repeat(20_000)}`]),
    'has headers that are too large',
  ],
  ['has a URL that is too long', rawRequest(`GET /${'a'.repeat(20_000)}`), 'has headers that are too large'],
  [
    'has two Content-Length headers',
    rawRequest(put, ['Content-Length: 1', 'Content-Length: 2'], '{}'),
    'is not valid HTTP',
  ],
  [
    'has both Content-Length and Transfer-Encoding',
    rawRequest(put, ['Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    'is not valid HTTP',
  ],
  [
    'has a Content-Length that is not a number',
    rawRequest(put, ['Content-Length: two'], '{}'),
    'is not valid HTTP',
  ],
  [
    'has no Host header (RFC 9112, section 3.2)',
    `${get} HTTP/1.1\r\nConnection: close\r\n\r\n`,
    'has no Host header',
  ],
  [
    'has two Host headers (RFC 9112, section 3.2)',
    rawRequest(get, ['Host: other.test']),
    'has more than one Host header',
  ],
  ...['a b', '[', 'a<b', 'a/b', 'a@b', 'a:99999'].map((host) => [
    `has the Host header "${host}"`,
    `${get} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    'has an invalid Host header',
  ]),
])('returns 400 with an error body for a request that %s', async (_what, bytes, message) => {
  const reply = await sendRaw(gateway, bytes);

  checkAgainstSpecification({ method: 'GET', path: '/' }, reply);
  expect(reply.status).toBe(400);
  expect(JSON.parse(reply.text)).toEqual({
    error: `The request ${message}.`,
    code: 'bad_request',
    errors: [{ location: 'request', message, value: null }],
  });
});

test('replies to valid requests before a malformed one', async () => {
  const valid = [`${get} HTTP/1.1`, 'Host: gateway.test', await authorize(), '', ''].join('\r\n');
  const { status, text } = await sendRaw(gateway, `${valid.repeat(20)}garbage\r\n\r\n`);
  expect(status).toBe(200);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([
    ...Array.from({ length: 19 }, () => 'HTTP/1.1 200'),
    'HTTP/1.1 400',
  ]);
  expect(text).toMatch(/"The request is not valid HTTP\."/);
});

test('HTTP/1.0 requires no Host, and an unknown expectation is ignored instead of returning 417', async () => {
  for (const request of [
    `${get} HTTP/1.0\r\n${await authorize()}\r\n\r\n`,
    rawRequest(get, ['Expect: a-miracle', await authorize()]),
  ])
    expect(await sendRaw(gateway, request)).toMatchObject({ status: 200, text: '{"workspaces":[]}' });
});
