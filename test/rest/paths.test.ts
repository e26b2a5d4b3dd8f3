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
  const [method = '', path = ''] = start.split(' ');
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
])('returns 404: %s', async (start) => {
  expect(await send(start)).toEqual({ status: 404, body: notFound });
});

test.each(['GET /nowhere', 'POST /user/workspaces', 'OPTIONS /user/workspaces'])(
  'returns 404 without a token: %s',
  async (start) => {
    const { status, text } = await sendRaw(gateway, rawRequest(start));

    expect([status, JSON.parse(text)]).toEqual([404, notFound]);
  },
);

test('accepts an absolute URL in place of the path, as sent by proxies (RFC 9112, section 3.2.2)', async () => {
  const { id } = await publish(gateway, 'alice', 'task_failed', { id: 'as a proxy' });
  const address = 'http://gateway.test/user/notifications/as%20a%20proxy/dismiss?a=http://b/c';

  const { status, text } = await sendRaw(gateway, rawRequest(`POST ${address}`, [await authorize()]));

  expect([status, JSON.parse(text)]).toMatchObject([200, { notification: { id } }]);
});

test.each(['http://gateway.test', 'http://gateway.test?a=b'])(
  'reads the absolute URL %s, which has no path, as the root path',
  async (target) => {
    expect(await sendRaw(gateway, rawRequest(`GET ${target}`))).toMatchObject({
      status: 404,
      text: JSON.stringify(notFound),
    });
  },
);

test.each(['gateway.test', 'gateway.test:4000', ''])(
  'accepts an absolute URL of GraphQL, with the Host header "%s"',
  async (host) => {
    const body = JSON.stringify({ query: '{ __typename }' });
    const lines = [
      'POST http://gateway.test:4000/graphql HTTP/1.1',
      `Host: ${host}`,
      'Connection: close',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      await authorize(),
    ];

    const { status, text } = await sendRaw(gateway, [...lines, '', body].join('\r\n'));

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
  ['a slash', 'a/b'],
  ['dots only', '..'],
  ['spaces and letters of any script', 'ein Ünïcode 用户 😀'],
  ['percent and plus', '100%+1'],
  ['the name of a path segment', 'dismiss'],
  ['255 characters', 'é'.repeat(255)],
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
  ...[
    '0',
    '-1',
    '',
    'ten',
    '1.5',
    '1e3',
    '0x10',
    ' 1',
    '\u0661',
    '2147483648',
    '1152921504606846976',
    '1?x',
  ].map((value): [string, string, string, string] => [
    `limit=${encodeURIComponent(value).replace('%3F', '?')}`,
    'query.limit',
    limitRule,
    value,
  ]),
  ['limit', 'query.limit', limitRule, ''],
  ['limit=1&limit=2', 'query.limit', 'must not be repeated', ['1', '2']],
  ['offset=-1', 'query.offset', offsetRule, '-1'],
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
