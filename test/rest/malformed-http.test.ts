import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { checkAgainstSpecification } from '../support/specification.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();

const get = 'GET /user/workspaces';
const put = 'PUT /editor/auth/subscription';
const authorize = async () => `Authorization: Bearer ${await member('alice')}`;

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
  const lines = ['Host: gateway.test', await authorize(), '', ''];
  const valid = [`${get} HTTP/1.1`, ...lines].join('\r\n');

  const { status, text } = await sendRaw(gateway, `${valid.repeat(20)}garbage\r\n\r\n`);
  expect(status).toBe(200);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([
    ...Array.from({ length: 19 }, () => 'HTTP/1.1 200'),
    'HTTP/1.1 400',
  ]);
  expect(text).toMatch(/"The request is not valid HTTP\."/);
});

test('HTTP/1.0 requires no Host', async () => {
  const bytes = `${get} HTTP/1.0\r\n${await authorize()}\r\n\r\n`;
  expect((await sendRaw(gateway, bytes)).status).toBe(200);
});

test('ignores an unknown expectation instead of returning 417', async () => {
  const { status, text } = await sendRaw(gateway, rawRequest(get, ['Expect: a-miracle', await authorize()]));

  expect([status, text]).toEqual([200, '{"workspaces":[]}']);
});

test('keeps serving requests after malformed ones', async () => {
  await sendRaw(gateway, 'garbage\r\n\r\n');
  await sendRaw(gateway, '\u0016\u0003\u0001\u0002\u0000');

  expect((await sendRaw(gateway, rawRequest(get, [await authorize()]))).status).toBe(200);
});
