import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { rawRequest, sendRaw } from './support/raw.ts';
import { member } from './support/tokens.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  token = await member('alice');
});
afterAll(() => gateway.close());

/** The lines about a request that say that it was answered. */
function requestLines(requestId: string): Record<string, unknown>[] {
  return gateway
    .logLines()
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line.msg === 'request' && line.requestId === requestId);
}

test.each(['trace-1', 'a', 'A.b_C-9', 'x'.repeat(128)])(
  'the caller’s request id %s is taken over',
  async (id) => {
    const { headers } = await rest(gateway, 'GET', '/user/workspaces', {
      token,
      headers: { 'X-Request-Id': id },
    });

    expect(headers.get('x-request-id')).toBe(id);
  },
);

test.each([
  ['is empty', ''],
  ['has spaces', 'a b'],
  ['is longer than 128 characters', 'x'.repeat(129)],
  ['could forge a log line', '{"level":"info"}'],
  ['is a list', 'a,b'],
])('a request id that %s is replaced by a UUID', async (_what, id) => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces', {
    token,
    headers: { 'X-Request-Id': id },
  });

  expect(headers.get('x-request-id')).toMatch(UUID);
});

test('two request ids in one request are replaced by one', async () => {
  const lines = ['X-Request-Id: a', 'X-Request-Id: b'];

  const { headers } = await sendRaw(gateway, rawRequest('GET /user/workspaces', lines));

  expect(headers.get('x-request-id')).toMatch(UUID);
});

test.each([
  ['a success', 'GET', '/user/workspaces', 200],
  ['an unknown path', 'GET', '/nowhere', 404],
  ['an unknown record', 'POST', '/user/notifications/none/dismiss', 404],
  ['a body that cannot be read', 'PUT', '/user/notification-preferences', 400],
])(
  '%s has a request id in its reply and exactly one line in the log',
  async (_what, method, path, status) => {
    const { headers } = await rest(gateway, method, path, { token });

    const lines = requestLines(headers.get('x-request-id') ?? '');
    expect(lines).toEqual([expect.objectContaining({ method, path, status })]);
  },
);

test('a refused token has a request id in its reply and exactly one line in the log, without a user', async () => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces', { token: 'no.token.atall' });

  const lines = requestLines(headers.get('x-request-id') ?? '');
  expect(lines).toEqual([expect.objectContaining({ status: 401 })]);
  expect(lines[0]).not.toHaveProperty('user');
});

test('a GraphQL request has a request id in its reply and exactly one line in the log, with its user', async () => {
  const { headers } = await graphql(gateway, '{ workspaces { totalCount } }', {}, { token });

  const lines = requestLines(headers.get('x-request-id') ?? '');
  expect(lines).toEqual([expect.objectContaining({ path: '/graphql', status: 200, user: 'alice' })]);
});

test('the log holds the path of a request without its query', async () => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces?secret=in-the-query', { token });

  expect(requestLines(headers.get('x-request-id') ?? '')).toHaveLength(1);
  expect(gateway.logLines().join()).not.toContain('in-the-query');
});
