import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { scopes, TASK_SCOPE } from '../../src/auth/scopes.ts';
import { type DevelopmentGateway, findGraphiqlUrl, startDevelopmentGateway } from '../support/development.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';

const APP = 'https://app.example.test';

let gateway: DevelopmentGateway;
let key: string;
beforeAll(async () => {
  gateway = await startDevelopmentGateway({ GRAPHIQL: 'true', CORS_ORIGINS: APP, LOG_LEVEL: 'trace' });
  key = readKey(gateway) ?? '';
});
afterAll(() => gateway.close());

/** Returns the key in the printed URL. */
function readKey(from: TestGateway): string | null {
  return new URLSearchParams(new URL(findGraphiqlUrl(from)).hash.slice(1)).get('key');
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

  test.each<[from: string, headers: Record<string, string>]>([
    ['a browser at a loopback address or over https', { 'Sec-Fetch-Site': 'same-origin' }],
    ['a browser behind a proxy that replaces the Host', { 'Sec-Fetch-Site': 'same-origin', Origin: APP }],
  ])('is accepted from %s, without CORS headers', async (_from, headers) => {
    const reply = await exchange(gateway, { headers: { ...json, ...headers } });
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, null]);
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

  test.each([
    ['graphql', 'renderYogaGraphiQL'],
    ['docs', 'SwaggerUIBundle'],
  ])('is neither in the page /%s nor in its files, and the page has no token', async (path, start) => {
    const page = await (
      await fetch(`${gateway.address}/${path}`, { headers: { Accept: 'text/html' } })
    ).text();
    expect(page).toContain('data-token-path="graphql/token"');
    const boot = /src="([^"]*boot[^"]*)"/.exec(page)?.[1] ?? '';
    const script = await (await fetch(`${gateway.address}/${boot}`)).text();
    expect(script).toContain(start);
    for (const text of [page, script]) {
      expect(text).not.toContain(key);
      expect(text).not.toMatch(/eyJ/);
    }
  });

  test('is not logged, whether it is right or wrong', async () => {
    const wrong = 'w'.repeat(43);
    await exchange(gateway);
    await exchange(gateway, { body: JSON.stringify({ key: wrong }) });
    await exchange(gateway, { path: `/graphql/token?key=${key}` });
    const lines = gateway.logLines();
    expect(lines.filter((line) => line.includes('"/graphql/token"'))).not.toEqual([]);
    expect(lines.filter((line) => line.includes(key) || line.includes(wrong))).toEqual([]);
  });
});

describe('a token is refused', () => {
  const refusedBodies: [what: string, body: (right: string) => unknown][] = [
    ['a wrong key', () => ({ key: 'w'.repeat(43) })],
    ['an empty key', () => ({ key: '' })],
    ['a part of the key', (right) => ({ key: right.slice(0, -1) })],
    ['the key and more', (right) => ({ key: `${right}=` })],
    ['the key in another case', (right) => ({ key: right.toLowerCase() })],
    ['no key', () => ({})],
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
  test.each<[what: string, sent: (right: string) => Exchange]>([
    ...refusedBodies.map(([what, body]): [string, (right: string) => Exchange] => [
      what,
      (right) => ({ body: JSON.stringify(body(right)) }),
    ]),
    ...refusedHeaders.map(([from, headers]): [string, () => Exchange] => [
      `the key from ${from}`,
      () => ({ headers: { ...json, ...headers } }),
    ]),
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
    const page = await fetch(`${other.address}/graphql`, { headers: { Accept: 'text/html' } });
    expect(await page.text()).not.toContain('data-token-path');
  });
});
