import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { createPageToken } from '../src/pages/graphiql-token.ts';
import { graphql } from './support/client.ts';
import { type DevelopmentGateway, startDevelopmentGateway } from './support/development.ts';
import { settingsFor, startTestGateway } from './support/gateway.ts';
import { sendRaw } from './support/raw.ts';

const APP = 'https://app.example.test';

let gateway: DevelopmentGateway;
beforeAll(async () => {
  gateway = await startDevelopmentGateway({ GRAPHIQL: 'true', CORS_ORIGINS: APP });
});
afterAll(() => gateway.close());

type Address = { address: string };

/** Requests the page with exactly these headers. */
function getPage(to: Address, headers: readonly string[]) {
  const lines = ['GET /graphql HTTP/1.1', 'Accept: text/html', 'Connection: close', ...headers];
  return sendRaw(to, `${lines.join('\r\n')}\r\n\r\n`);
}

const formatHost = ({ address }: Address) => `Host: ${new URL(address).host}`;
const findToken = (text: string) => /data-token="([^"]*)"/.exec(text)?.[1];

/** Returns the token in the page, by default as a browser on this machine requests it. */
async function readPageToken(to: Address, headers: readonly string[] = [formatHost(to)]) {
  const { status, text } = await getPage(to, headers);
  expect([status, text.includes('id="root"')]).toEqual([200, true]);
  return findToken(text);
}

describe('in development the page contains a token', () => {
  test('for alice in acme, with every scope, valid for an hour', async () => {
    const token = (await readPageToken(gateway)) ?? '';
    const { sub, org_id, scope, iat = 0, exp = 0 } = decodeJwt(token);
    expect({ sub, org_id, scope, seconds: exp - iat }).toEqual({
      sub: 'alice',
      org_id: 'acme',
      scope: 'account:read account:write platform:write platform:read platform:credentials',
      seconds: 3600,
    });
    const query =
      '{ editorAuth { needsReauth } statistics { notifications { count } } editorCredential(userId: "a") { version } }';
    const { errors, data } = await graphql(gateway, query, {}, { token });
    expect(errors).toEqual([]);
    expect(data.editorAuth).toEqual({ needsReauth: false });
  });

  test('and is neither stored by caches nor embeddable in another page', async () => {
    const { headers } = await getPage(gateway, [formatHost(gateway)]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each(['localhost', 'LOCALHOST:4000', '127.0.0.1', '127.1.2.3:80', '[::1]:4000'])(
    'if the Host is %s',
    async (host) => {
      expect(await readPageToken(gateway, [`Host: ${host}`])).toBeDefined();
    },
  );

  test('if a browser requests it as a document', async () => {
    expect(await readPageToken(gateway, [formatHost(gateway), 'Sec-Fetch-Dest: document'])).toBeDefined();
  });
});

test.each(['localhost:4000.example.test', '127.0.0.1@example.test'])(
  'the page is not served if the Host is %s, which is not valid',
  async (host) => {
    const { status, text } = await getPage(gateway, [`Host: ${host}`]);

    expect([status, findToken(text)]).toEqual([400, undefined]);
  },
);

describe('the page contains no token', () => {
  test.each([
    'rebound.example.test',
    'rebound.example.test:4000',
    'localhost.example.test',
    'example.test.localhost',
    '127.0.0.1.example.test',
    '127.0.0.1evil',
    '192.168.0.7:4000',
    '[::2]:4000',
    '0.0.0.0:4000',
  ])('if the Host is %s, which another machine may have', async (host) => {
    expect(await readPageToken(gateway, [`Host: ${host}`])).toBeUndefined();
  });

  test.each([
    ['a page of an allowed origin', `Origin: ${APP}`],
    ['a page of another origin', 'Origin: https://stranger.test'],
    ['a page without an origin', 'Origin: null'],
    ['a frame', 'Sec-Fetch-Dest: iframe'],
    ['a script using fetch', 'Sec-Fetch-Dest: empty'],
    ['a proxy with X-Forwarded-For', 'X-Forwarded-For: 203.0.113.7'],
    ['a proxy with Forwarded', 'Forwarded: for=203.0.113.7'],
    ['a proxy with Via', 'Via: 1.1 proxy'],
  ])('if the request comes from %s', async (_who, header) => {
    expect(await readPageToken(gateway, [formatHost(gateway), header])).toBeUndefined();
  });

  test('if a key set is configured', async () => {
    const configured = await startTestGateway({ GRAPHIQL: 'true' }, gateway.database);
    expect(await readPageToken(configured)).toBeUndefined();
    await configured.close();
  });

  test('in production', async () => {
    const production = await startTestGateway({ GRAPHIQL: 'true', NODE_ENV: 'production' }, gateway.database);
    expect(await readPageToken(production)).toBeUndefined();
    await production.close();
  });

  test('in production, even if the development key were used', () => {
    const config = readConfig({ ...settingsFor(gateway.database), NODE_ENV: 'production' });
    expect(createPageToken({ ...config, keySet: { kind: 'development' } })).toBeUndefined();
  });

  test.each([
    ['https://gateway.example.test', false],
    ['http://localhost.example.test:4000/path', false],
    ['http://localhost:8080/path', true],
  ])('unless PUBLIC_URL has a loopback host: %s, token: %s', (PUBLIC_URL, hasToken) => {
    const config = readConfig({ PUBLIC_URL });
    expect(createPageToken(config) !== undefined).toBe(hasToken);
  });
});
