import { expect, test } from 'vitest';
import type { Caller, Who } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { member, signToken } from '../support/tokens.ts';

const ORIGIN = 'https://app.example.test';
const OTHER = 'http://localhost:5173';

const gateway = useGateway({
  CORS_ORIGINS: `${ORIGIN},${OTHER}`,
  RATE_LIMIT_READS_PER_MINUTE: '600',
  RATE_LIMIT_WRITES_PER_MINUTE: '1',
});
const withoutCors = useGateway({}, gateway);
/** A gateway that cannot check tokens. */
const broken = useGateway(
  { CORS_ORIGINS: ORIGIN, AUTH_JWKS: '', AUTH_JWKS_URL: 'http://127.0.0.1:1/jwks' },
  gateway,
);
const alice = gateway.as('alice');

const allowed = (headers: Headers) => headers.get('access-control-allow-origin');
const corsHeaders = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

/** Sends a request to each API. */
const askBoth = async ({ rest, graphql }: Caller, Origin: string) => [
  await rest.get('/editor/auth', { headers: { Origin } }),
  await graphql('{ editorAuth { needsReauth } }', {}, { headers: { Origin } }),
];

async function preflight(Origin: string, { path = '/user/workspaces', at = gateway } = {}) {
  const headers = {
    Origin,
    'Access-Control-Request-Method': 'PUT',
    'Access-Control-Request-Headers': 'authorization,content-type',
  };
  const reply = await fetch(`${at.address}${path}`, { method: 'OPTIONS', headers });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}

test.each([ORIGIN, OTHER])('allows the configured origin %s to read replies of both APIs', async (origin) => {
  for (const { status, headers } of await askBoth(alice, origin)) {
    expect([status, allowed(headers)]).toEqual([200, origin]);
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  }
});

test.each([
  ...['https://stranger.test', 'null', '*', `${ORIGIN}.stranger.test`, `${ORIGIN}:8443`, `${ORIGIN}/`],
  ...['https://strangerapp.example.test', 'https://stranger.test?https://app.example.test'],
  ...['https://appXexample.test', 'http://app.example.test', 'https://APP.example.test'],
  ...['https://sub.app.example.test', 'http://localhost:51730', `${ORIGIN},${OTHER}`, `${ORIGIN} ${OTHER}`],
])('sends no CORS headers to the origin %s', async (origin) => {
  for (const { headers } of [...(await askBoth(alice, origin)), await preflight(origin)]) {
    expect(corsHeaders(headers)).toEqual([]);
    // Caches must not serve one origin's reply to another.
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
  }
});

test.each([0, 2])('sends no CORS headers for %i Origin headers', async (count) => {
  const lines = [...Array(count).fill(`Origin: ${ORIGIN}`), `Authorization: Bearer ${await member('alice')}`];
  const { status, headers } = await sendRaw(gateway, rawRequest('GET /user/workspaces', lines));

  expect([status, corsHeaders(headers)]).toEqual([200, []]);
  expect(headers.get('vary')).toMatch(/\bOrigin\b/);
});

test.each(['/user/workspaces', '/editor/auth', '/graphql', '/nowhere'])(
  'returns 204 for a preflight request of a configured origin, without a token: %s',
  async (path) => {
    const { status, headers, text } = await preflight(ORIGIN, { path });

    expect([status, text, allowed(headers)]).toEqual([204, '', ORIGIN]);
    const methods = headers.get('access-control-allow-methods')?.split(',').sort();
    expect(methods).toEqual(['DELETE', 'GET', 'PATCH', 'POST', 'PUT']);
    const names = headers.get('access-control-allow-headers')?.toLowerCase().split(',');
    const own = ['authorization', 'content-type', 'if-none-match', 'x-request-id'];
    // Tracing of web apps adds these to every request.
    const ofTracing = ['traceparent', 'tracestate', 'baggage'];
    expect(names).toEqual(expect.arrayContaining([...own, ...ofTracing]));
    expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(0);
    expect(headers.get('vary')).toMatch(/\bOrigin\b/);
  },
);

const headers = { Origin: ORIGIN };
const writePreferences = async ({ rest }: Caller) =>
  rest.put('/user/notification-preferences', { preferences: [] }, { headers });

/** Errors that must be readable by pages of a configured origin. Each user has their own limit. */
test.each<[status: number, what: string, send: (caller: Caller) => ReturnType<Caller['rest']['get']>]>([
  [400, 'a parameter', ({ rest }) => rest.get('/user/workspaces?limit=0', { headers })],
  [404, 'an unknown path', ({ rest }) => rest.get('/nowhere', { headers })],
  [422, 'an ID', ({ rest }) => rest.post('/user/notifications//dismiss', undefined, { headers })],
  [429, 'the second write', (caller) => writePreferences(caller).then(() => writePreferences(caller))],
])('allows a configured origin to read the error and its headers: %i for %s', async (status, what, send) => {
  const reply = await send(gateway.as(`${status} ${what}`));

  expect([reply.status, allowed(reply.headers)]).toEqual([status, ORIGIN]);
  expect(reply.headers.get('access-control-expose-headers')).toBe(
    'ETag,Link,Retry-After,RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset,X-Request-Id',
  );
});

test.each<[what: string, status: number, who: Who, at: () => typeof gateway]>([
  ['without membership', 403, () => signToken({ sub: 'alice' }), () => gateway],
  ['with an invalid token', 401, async () => 'not-a-token', () => gateway],
  ['that fails', 500, 'alice', () => broken],
])('allows a configured origin to read the reply to a request %s, on both APIs', async (...row) => {
  const [, status, who, at] = row;
  const [overRest, overGraphQL] = await askBoth(at().as(who), ORIGIN);

  expect(overRest?.status).toBe(status);
  for (const reply of [overRest, overGraphQL]) expect(reply && allowed(reply.headers)).toBe(ORIGIN);
});

test('without configured origins, sends no CORS headers and does not vary by origin', async () => {
  for (const { headers } of await askBoth(withoutCors.as('alice'), ORIGIN)) {
    expect(corsHeaders(headers)).toEqual([]);
    expect(headers.get('vary') ?? '').not.toContain('Origin');
  }
  const asked = await preflight(ORIGIN, { at: withoutCors });
  expect([asked.status, JSON.parse(asked.text).code, corsHeaders(asked.headers)]).toEqual([
    404,
    'not_found',
    [],
  ]);
});
