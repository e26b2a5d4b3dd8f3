import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { member, signToken } from '../support/tokens.ts';

const ORIGIN = 'https://app.example.test';
const OTHER = 'http://localhost:5173';

let gateway: TestGateway;
let withoutCors: TestGateway;
let token: string;
beforeAll(async () => {
  const limits = { RATE_LIMIT_READS_PER_MINUTE: '600', RATE_LIMIT_WRITES_PER_MINUTE: '1' };
  gateway = await startTestGateway({ CORS_ORIGINS: `${ORIGIN},${OTHER}`, ...limits });
  withoutCors = await startTestGateway({}, gateway.database);
  token = await member('alice');
});
afterAll(async () => {
  await withoutCors.close();
  await gateway.close();
});

const allowed = (headers: Headers) => headers.get('access-control-allow-origin');
const corsHeaders = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

test.each([ORIGIN, OTHER])('allows the configured origin %s to read replies of both APIs', async (Origin) => {
  const overRest = await rest(gateway, 'GET', '/user/workspaces', { token, headers: { Origin } });
  const overGraphQL = await graphql(gateway, '{ __typename }', {}, { token, headers: { Origin } });

  for (const { status, headers } of [overRest, overGraphQL]) {
    expect([status, allowed(headers)]).toEqual([200, Origin]);
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  }
});

const otherOrigins = [
  'https://stranger.test',
  'null',
  '*',
  `${ORIGIN}.stranger.test`,
  `${ORIGIN}:8443`,
  `${ORIGIN}/`,
  `${ORIGIN}/path`,
  `https://strangerapp.example.test`,
  'https://stranger.test?https://app.example.test',
  'https://app-example.test',
  'https://appXexample.test',
  'http://app.example.test',
  'https://APP.example.test',
  'https://example.test',
  'https://sub.app.example.test',
  'http://localhost:51730',
  'http://localhost',
  `${ORIGIN},${OTHER}`,
  `${ORIGIN} ${OTHER}`,
];

test.each(otherOrigins)('sends no CORS headers to the origin %s', async (Origin) => {
  for (const { headers } of [
    await rest(gateway, 'GET', '/user/workspaces', { token, headers: { Origin } }),
    await graphql(gateway, '{ __typename }', {}, { token, headers: { Origin } }),
    await preflight(gateway, Origin),
  ]) {
    expect(corsHeaders(headers)).toEqual([]);
    // Caches must not serve one origin's reply to another.
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
  }
});

test('ignores the origin if there are two Origin headers', async () => {
  const lines = [`Origin: ${ORIGIN}`, `Origin: ${ORIGIN}`, `Authorization: Bearer ${token}`];

  const { headers } = await sendRaw(gateway, rawRequest('GET /user/workspaces', lines));

  expect(corsHeaders(headers)).toEqual([]);
});

test('sends no CORS headers to a caller without an origin', async () => {
  const { status, headers } = await rest(gateway, 'GET', '/user/workspaces', { token });

  expect([status, corsHeaders(headers)]).toEqual([200, []]);
  expect(headers.get('vary')).toMatch(/\bOrigin\b/);
});

async function preflight(
  { address }: TestGateway,
  Origin: string,
  method = 'PUT',
  path = '/user/workspaces',
) {
  const headers = {
    Origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'authorization,content-type',
  };
  const response = await fetch(`${address}${path}`, { method: 'OPTIONS', headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test.each(['/user/workspaces', '/user/notification-preferences', '/editor/auth', '/graphql', '/nowhere'])(
  'returns 204 for a preflight request of a configured origin, without a token: %s',
  async (path) => {
    const { status, headers, text } = await preflight(gateway, ORIGIN, 'PUT', path);

    expect([status, text]).toEqual([204, '']);
    expect(allowed(headers)).toBe(ORIGIN);
    expect(headers.get('access-control-allow-methods')?.split(',').sort()).toEqual([
      'DELETE',
      'GET',
      'PATCH',
      'POST',
      'PUT',
    ]);
    const names = headers.get('access-control-allow-headers')?.toLowerCase().split(',');
    expect(names).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'if-none-match', 'x-request-id']),
    );
    // Tracing of web apps adds these to every request.
    expect(names).toEqual(expect.arrayContaining(['traceparent', 'tracestate', 'baggage']));
    expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0);
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
  },
);

test('returns 404 for a preflight request of another origin', async () => {
  const { status, text } = await preflight(gateway, 'https://stranger.test');

  expect([status, JSON.parse(text).code]).toEqual([404, 'not_found']);
});

const readable = [
  'ETag',
  'Link',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-Request-Id',
];

/** Errors that must be readable by pages of a configured origin. */
const issues: [status: number, method: string, path: string, sent: object][] = [
  [400, 'GET', '/user/workspaces?limit=0', {}],
  [401, 'GET', '/user/workspaces', { token: undefined }],
  [404, 'GET', '/nowhere', {}],
  [404, 'POST', '/user/notifications/none/dismiss', {}],
  [422, 'PUT', '/user/notification-preferences', { body: {} }],
  [429, 'PUT', '/user/notification-preferences', { body: { preferences: [] } }],
];

test.each(issues)(
  'allows a configured origin to read the error and its headers: %i of %s %s',
  async (status, method, path, sent) => {
    // Each user has their own limit: invalid requests count like valid ones.
    const limited = await member(`limited by ${status}`);
    const ask = () => rest(gateway, method, path, { token: limited, ...sent, headers: { Origin: ORIGIN } });
    let reply = await ask();
    for (let count = 0; status === 429 && reply.status !== status && count < 5; count += 1)
      reply = await ask();

    expect([reply.status, allowed(reply.headers)]).toEqual([status, ORIGIN]);
    expect(reply.headers.get('access-control-expose-headers')?.split(',')).toEqual(readable);
  },
);

test.each([
  ['without membership', 403, async () => signToken({ sub: 'alice' })],
  ['with an invalid token', 401, async () => 'not-a-token'],
])(
  'allows a configured origin to read the rejection of a request %s, on both APIs',
  async (_what, status, make) => {
    const headers = { Origin: ORIGIN };
    const bad = await make();

    const overRest = await rest(gateway, 'GET', '/editor/auth', { token: bad, headers });
    const overGraphQL = await graphql(gateway, '{ editorAuth { needsReauth } }', {}, { token: bad, headers });

    expect(overRest.status).toBe(status);
    for (const reply of [overRest, overGraphQL]) expect(allowed(reply.headers)).toBe(ORIGIN);
  },
);

test('allows a configured origin to read an internal error, on both APIs', async () => {
  const broken = await startTestGateway(
    { CORS_ORIGINS: ORIGIN, AUTH_JWKS: '', AUTH_JWKS_URL: 'http://127.0.0.1:1/jwks' },
    gateway.database,
  );
  const headers = { Origin: ORIGIN };

  const overRest = await rest(broken, 'GET', '/user/workspaces', { token, headers });
  const overGraphQL = await graphql(broken, '{ workspaces { totalCount } }', {}, { token, headers });
  await broken.close();

  for (const reply of [overRest, overGraphQL]) {
    expect([reply.status, allowed(reply.headers)]).toEqual([500, ORIGIN]);
  }
});

test('without configured origins, sends no CORS headers and does not vary by origin', async () => {
  const headers = { Origin: ORIGIN };
  const reply = await rest(withoutCors, 'GET', '/user/workspaces', { token, headers });
  const asked = await preflight(withoutCors, ORIGIN);

  expect([corsHeaders(reply.headers), corsHeaders(asked.headers)]).toEqual([[], []]);
  expect([reply.status, asked.status]).toEqual([200, 404]);
  expect(reply.headers.get('vary') ?? '').not.toContain('Origin');
});
