import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { scopes, TASK_SCOPE } from '../../src/auth/scopes.ts';
import { type DevelopmentGateway, findUrl, startDevelopmentGateway } from '../support/development.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';

const APP = 'https://app.example.test';

let gateway: DevelopmentGateway;
let key: string;
let page: string;
beforeAll(async () => {
  gateway = await startDevelopmentGateway({ GRAPHIQL: 'true', CORS_ORIGINS: APP });
  key = readKey(gateway) ?? '';
  page = await (await get(gateway, '/graphql')).text();
});
afterAll(() => gateway.close());
const disabled = useGateway();

const get = ({ address }: TestGateway, path: string, accept = 'text/html,*/*;q=0.8') =>
  fetch(`${address}${path}`, { headers: { Accept: accept } });

const assetPaths = () => [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => `/${path}`);

/** Returns the key in the printed URL. */
function readKey(from: TestGateway): string | null {
  return new URLSearchParams(new URL(findUrl(from, 'GraphiQL')).hash.slice(1)).get('key');
}

const json = { 'Content-Type': 'application/json' };

type Exchange = { method?: string; path?: string; headers?: Record<string, string>; body?: string };

/** Sends the key to a gateway, by default as the page does. */
async function exchange(
  to: TestGateway,
  { method = 'POST', path = '/graphql/token', ...sent }: Exchange = {},
) {
  const { headers = json, body = JSON.stringify({ key }) } = sent;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const reply = await fetch(`${to.address}${path}`, { method, headers, ...(hasBody && { body }) });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}

describe('the key in the printed URL', () => {
  test('has 256 bits, and is another one in each process', async () => {
    expect(key).toMatch(/^[\w-]{43}$/);
    const other = await startDevelopmentGateway({ GRAPHIQL: 'true' });
    onTestFinished(other.close);
    expect(readKey(other)).toMatch(/^[\w-]{43}$/);
    expect(readKey(other)).not.toBe(key);
    expect((await exchange(other)).status).toBe(404);
  });

  test('is exchanged for a token of alice in acme, with every scope but that of task tokens, valid for an hour', async () => {
    const { status, headers, text } = await exchange(gateway);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { token } = JSON.parse(text);
    const { sub, org_id, scope, iat = 0, exp = 0 } = decodeJwt(token);
    expect({ sub, org_id, scope, seconds: exp - iat }).toEqual({
      sub: 'alice',
      org_id: 'acme',
      scope: scopes.filter((scope) => scope !== TASK_SCOPE).join(' '),
      seconds: 3600,
    });
    const query = `{ editorAuth { needsReauth } platform { statistics { notifications { count } } }
      editorCredential(userId: "a") { version } }`;
    expect(await gateway.as(async () => token).run(query)).toMatchObject({
      editorAuth: { needsReauth: false },
    });
  });

  test('is accepted from the page, also behind a proxy that replaces the Host, without CORS headers', async () => {
    for (const origin of [{}, { Origin: APP }]) {
      const headers = { ...json, 'Sec-Fetch-Site': 'same-origin', ...origin };
      const reply = await exchange(gateway, { headers });
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    }
  });

  test('is accepted from a browser without Fetch Metadata, but not for an invalid Host', async () => {
    const status = async (host: string) => {
      const body = JSON.stringify({ key });
      const lines = [
        `Origin: http://${host}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      ];
      const request = rawRequest('POST /graphql/token', lines, body).replace('gateway.test', host);
      return (await sendRaw(gateway, request)).status;
    };
    expect(await status('gateway.lan:4000')).toBe(200);
    expect(await status('127.0.0.1@example.test')).toBe(400);
  });
});

describe('a token is refused', () => {
  type Row = [what: string, sent: (right: string) => Exchange];
  const refusedBodies: [what: string, body: (right: string) => unknown][] = [
    ['a wrong key', () => ({ key: 'w'.repeat(43) })],
    ['a part of the key', (right) => ({ key: right.slice(0, -1) })],
    ['the key and more', (right) => ({ key: `${right}=` })],
    ['the key in another case', (right) => ({ key: right.toLowerCase() })],
    ['an array', (right) => ({ key: [right] })],
    ['an additional property', (right) => ({ key: right, more: true })],
    ['the key alone', (right) => right],
  ];
  const refusedHeaders: [from: string, headers: Record<string, string>][] = [
    ['another site', { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://stranger.test' }],
    ['an allowed origin', { 'Sec-Fetch-Site': 'cross-site', Origin: APP }],
    ['another port of the same host', { 'Sec-Fetch-Site': 'same-site' }],
    ['a link', { 'Sec-Fetch-Site': 'none' }],
    ['another origin, without Fetch Metadata', { Origin: 'https://stranger.test' }],
    ['a page without an origin', { Origin: 'null' }],
  ];
  test.each<Row>([
    ...refusedBodies.map(([what, body]): Row => [what, (right) => ({ body: JSON.stringify(body(right)) })]),
    ...refusedHeaders.map(
      ([from, sent]): Row => [`the key from ${from}`, () => ({ headers: { ...json, ...sent } })],
    ),
  ])('for %s, with 404', async (_what, sent) => {
    const { status, headers, text } = await exchange(gateway, sent(key));
    expect([status, JSON.parse(text)]).toEqual([404, { error: 'Not found.', code: 'not_found', errors: [] }]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test.each<[how: string, status: number, sent: (right: string) => Exchange]>([
    ['as a form', 400, (right) => ({ headers: {}, body: `key=${right}` })],
    ['as text', 400, () => ({ headers: { 'Content-Type': 'text/plain' } })],
    ['in the query', 400, (right) => ({ path: `/graphql/token?key=${right}`, body: '' })],
    ['in the query of a GET', 404, (right) => ({ path: `/graphql/token?key=${right}`, method: 'GET' })],
    ['in the query of the page', 401, (right) => ({ path: `/graphql?key=${right}`, method: 'GET' })],
    ['with PUT', 404, () => ({ method: 'PUT' })],
    ['as a bearer token', 400, (right) => ({ headers: { Authorization: `Bearer ${right}` } })],
    ['in more than 16 KiB', 400, (right) => ({ body: JSON.stringify({ key: right }).padEnd(16_385) })],
    ['to another path', 404, () => ({ path: '/graphql/token/' })],
  ])('for the key sent %s', async (_how, status, sent) => {
    const reply = await exchange(gateway, sent(key));
    expect(reply.status).toBe(status);
    expect(reply.text).not.toContain('eyJ');
  });

  test.each<[when: string, settings: Record<string, string>, isPrinted: boolean]>([
    ['with a configured key set', { GRAPHIQL: 'true' }, true],
    ['in production', { GRAPHIQL: 'true', NODE_ENV: 'production' }, false],
    ['without GraphiQL', { AUTH_JWKS: '', AUTH_ISSUER: '', AUTH_AUDIENCE: '', GRAPHIQL: 'false' }, false],
  ])('%s, where no key is printed', async (_when, settings, isPrinted) => {
    const { DATA_DIR = '' } = gateway.settings;
    const other = await startTestGateway({ ...settings, DATA_DIR }, gateway.database);
    onTestFinished(other.close);
    expect(other.startLines.join()).not.toContain('key=');
    if (isPrinted) expect(readKey(other)).toBeNull();
    expect((await exchange(other)).status).toBe(404);
    expect(await (await get(other, '/graphql')).text()).not.toContain('data-token-path');
  });
});

describe('the page', () => {
  test('restricts scripts, requests and framing to its own origin', async () => {
    const { status, headers } = await get(gateway, '/graphql');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = headers.get('content-security-policy')?.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('vary')).toContain('Accept');
  });

  test('and the script that starts it refer to no other origin, and contain neither key nor token', async () => {
    const boot = assetPaths().find((path) => path.includes('/boot-')) ?? '';
    const script = await (await get(gateway, boot)).text();
    expect(script).toContain('renderYogaGraphiQL');
    expect(page).toContain('data-token-path="graphql/token"');
    for (const text of [page, script]) {
      expect(text).not.toMatch(/(https?:)?\/\/[\w-]+\.[\w-]/);
      expect(text).not.toContain(key);
      expect(text).not.toMatch(/eyJ/);
    }
    expect(page).not.toMatch(/<script>|<style|\son\w+=/);
  });

  test.each(['application/json', 'application/graphql-response+json, text/html;q=0.5', '*/*'])(
    'is not sent to a caller that accepts %s',
    async (accept) => {
      const { status, headers } = await get(gateway, '/graphql', accept);
      expect(status).toBe(401);
      expect(headers.get('content-type')).toMatch(/^application\/(graphql-response\+)?json/);
    },
  );
});

describe('its assets', () => {
  test('have the right content types and are cached permanently', async () => {
    const types = await Promise.all(
      assetPaths().map(async (path) => {
        const { status, headers } = await get(gateway, path, '*/*');
        expect({ path, status }).toEqual({ path, status: 200 });
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        return headers.get('content-type');
      }),
    );
    const script = 'text/javascript; charset=utf-8';
    expect(types.sort()).toEqual(['image/x-icon', 'text/css; charset=utf-8', script, script]);
  });

  test('are compressed with gzip only if the client accepts it', async () => {
    const path = assetPaths().find((one) => one.endsWith('.css')) ?? '';
    const [compressed, plain] = await Promise.all(
      ['gzip', 'identity'].map((encoding) =>
        fetch(`${gateway.address}${path}`, { headers: { 'Accept-Encoding': encoding } }),
      ),
    );
    expect(compressed?.headers.get('content-encoding')).toBe('gzip');
    expect(plain?.headers.get('content-encoding')).toBeNull();
    expect(await compressed?.text()).toBe(await plain?.text());
  });

  test('return 404 for unknown names', async () => {
    expect((await get(gateway, '/graphql/assets/none.js')).status).toBe(404);
    expect((await get(gateway, '/graphql/assets/../../package.json')).status).toBe(404);
  });
});

test('neither the page nor its assets exist if GRAPHIQL is off', async () => {
  expect((await get(disabled, '/graphql')).status).toBe(401);
  for (const path of assetPaths()) expect((await get(disabled, path)).status).toBe(404);
});
