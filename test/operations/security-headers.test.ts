import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway({ GRAPHIQL: 'true' });
const ask = async (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  fetch(`${gateway.address}${path}`, {
    method,
    headers: { Authorization: `Bearer ${await member('alice')}`, ...headers },
    ...(body !== undefined && { body }),
  });
const post = (query: string, headers = {}) =>
  ask('POST', '/graphql', { ...json, ...headers }, JSON.stringify({ query }));

const json = { 'Content-Type': 'application/json' };
const strict = "default-src 'none';frame-ancestors 'none'";

/** Expects the security headers of every reply. */
function expectSecure(headers: Headers, referrer = 'no-referrer'): void {
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe(referrer);
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  expect(headers.get('x-powered-by')).toBeNull();
  expect(headers.get('server')).toBeNull();
}

test.each<[what: string, status: number, send: () => Promise<Response>]>([
  ['a success over REST', 200, () => ask('GET', '/user/workspaces')],
  ['a success without a body', 204, () => ask('DELETE', '/editor/auth')],
  ['a success over GraphQL', 200, () => post('{ __typename }')],
  ['an invalid document', 400, () => post('{', { Accept: 'application/graphql-response+json' })],
  ['a GraphQL request without a token', 401, () => post('{ viewer { id } }', { Authorization: '' })],
  ['a request without a token', 401, () => ask('GET', '/user/workspaces', { Authorization: '' })],
  ['an unknown path', 404, () => ask('GET', '/nowhere')],
  ['an invalid body', 422, () => ask('PUT', '/user/notification-preferences', json, '{}')],
  ['/readyz', 200, () => ask('GET', '/readyz')],
])('sends the security headers with %s', async (_what, status, send) => {
  const response = await send();

  expect(response.status).toBe(status);
  expectSecure(response.headers);
  expect(response.headers.get('content-security-policy')).toBe(strict);
});

test('sends the security headers with the rejection of a request with two Host headers', async () => {
  const { status, headers } = await sendRaw(
    gateway,
    rawRequest('GET /user/workspaces', ['Host: other.test']),
  );

  expect(status).toBe(400);
  expectSecure(headers);
  expect(headers.get('content-security-policy')).toBe(strict);
});

test('GraphiQL and its assets have their own content security policy and the same other headers', async () => {
  const page = await ask('GET', '/graphql', { Accept: 'text/html' });
  const [, script] = /src="([^"]+)"/.exec(await page.text()) ?? [];
  const file = await ask('GET', `/${script}`);

  for (const { status, headers } of [page, file]) {
    expect(status).toBe(200);
    expectSecure(headers);
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
});

test.each(['/unsubscribe/unknown', '/answer/unknown'])(
  'the page of a link in a mail has them too: %s',
  async (path) => {
    for (const method of ['GET', 'POST']) {
      const { status, headers } = await ask(method, path);
      expect(status).toBe(404);
      expectSecure(headers, 'same-origin');
      expect(headers.get('content-security-policy')).toContain("form-action 'self'");
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  },
);
