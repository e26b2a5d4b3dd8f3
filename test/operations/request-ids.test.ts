import { beforeAll, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { member } from '../support/tokens.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

/** Returns the log lines of a completed request. */
function requestLines(requestId: string): Record<string, unknown>[] {
  return gateway
    .logLines()
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line.msg === 'request' && line.requestId === requestId);
}

test.each(['trace-1', 'a', 'A.b_C-9', 'x'.repeat(128)])('uses the caller’s request ID %s', async (id) => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces', {
    token,
    headers: { 'X-Request-Id': id },
  });

  expect(headers.get('x-request-id')).toBe(id);
});

test.each([
  ['is empty', ''],
  ['has spaces', 'a b'],
  ['is longer than 128 characters', 'x'.repeat(129)],
  ['contains JSON', '{"level":"info"}'],
  ['is a list', 'a,b'],
])('replaces a request ID that %s by a UUID', async (_what, id) => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces', {
    token,
    headers: { 'X-Request-Id': id },
  });

  expect(headers.get('x-request-id')).toMatch(UUID);
});

test('replaces two request IDs by one UUID', async () => {
  const lines = ['X-Request-Id: a', 'X-Request-Id: b'];

  const { headers } = await sendRaw(gateway, rawRequest('GET /user/workspaces', lines));

  expect(headers.get('x-request-id')).toMatch(UUID);
});

test.each([
  ['a success', 'GET', '/user/workspaces', 200],
  ['an unknown path', 'GET', '/nowhere', 404, '(unmatched)'],
  ['an unknown record', 'POST', '/user/notifications/none/dismiss', 404],
  ['an unreadable body', 'PUT', '/user/notification-preferences', 400],
])(
  '%s has a request ID in its reply and exactly one log line',
  async (_what, method, path, status, logged = path) => {
    const { headers } = await rest(gateway, method, path, { token });

    const lines = requestLines(headers.get('x-request-id') ?? '');
    expect(lines).toEqual([expect.objectContaining({ method, path: logged, status })]);
  },
);

test('a rejected token has a request ID in its reply and exactly one log line, without a user', async () => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces', { token: 'no.token.atall' });

  const lines = requestLines(headers.get('x-request-id') ?? '');
  expect(lines).toEqual([expect.objectContaining({ status: 401 })]);
  expect(lines[0]).not.toHaveProperty('user');
});

test('a GraphQL request has a request ID in its reply and exactly one log line, with its user', async () => {
  const { headers } = await graphql(gateway, '{ workspaces { totalCount } }', {}, { token });

  const lines = requestLines(headers.get('x-request-id') ?? '');
  expect(lines).toEqual([expect.objectContaining({ path: '/graphql', status: 200, user: 'alice' })]);
});

test('logs the path of a request without its query string', async () => {
  const { headers } = await rest(gateway, 'GET', '/user/workspaces?secret=in-the-query', { token });

  expect(requestLines(headers.get('x-request-id') ?? '')).toHaveLength(1);
  expect(gateway.logLines().join()).not.toContain('in-the-query');
});
