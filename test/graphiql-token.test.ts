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

/** Asks for the page by exactly these headers. */
function getPage(to: Address, headers: readonly string[]) {
  const lines = ['GET /graphql HTTP/1.1', 'Accept: text/html', 'Connection: close', ...headers];
  return sendRaw(to, `${lines.join('\r\n')}\r\n\r\n`);
}

const hostOf = ({ address }: Address) => `Host: ${new URL(address).host}`;
const tokenIn = (text: string) => /data-token="([^"]*)"/.exec(text)?.[1];

/** The token of the page as a browser on this machine opens it. */
async function tokenOf(to: Address, headers: readonly string[] = [hostOf(to)]) {
  const { status, text } = await getPage(to, headers);
  expect([status, text.includes('id="root"')]).toEqual([200, true]);
  return tokenIn(text);
}

describe('in development the page holds a token', () => {
  test('of alice in acme, with every scope, for an hour, that works', async () => {
    const token = (await tokenOf(gateway)) ?? '';
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

  test('and is never stored, nor shown within another page', async () => {
    const { headers } = await getPage(gateway, [hostOf(gateway)]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each(['localhost', 'LOCALHOST:4000', '127.0.0.1', '127.1.2.3:80', '[::1]:4000'])(
    'for the Host %s',
    async (host) => {
      expect(await tokenOf(gateway, [`Host: ${host}`])).toBeDefined();
    },
  );

  test('and for a browser that opens it as a page', async () => {
    expect(await tokenOf(gateway, [hostOf(gateway), 'Sec-Fetch-Dest: document'])).toBeDefined();
  });
});

describe('it holds none', () => {
  test.each([
    'rebound.example.test',
    'rebound.example.test:4000',
    'localhost.example.test',
    'example.test.localhost',
    'localhost:4000.example.test',
    '127.0.0.1.example.test',
    '127.0.0.1@example.test',
    '127.0.0.1evil',
    '192.168.0.7:4000',
    '[::2]:4000',
    '0.0.0.0:4000',
  ])('for the Host %s, which another machine can have', async (host) => {
    expect(await tokenOf(gateway, [`Host: ${host}`])).toBeUndefined();
  });

  test.each([
    ['a page of an origin that is allowed', `Origin: ${APP}`],
    ['a page of any other origin', 'Origin: https://stranger.test'],
    ['a page without an origin', 'Origin: null'],
    ['a frame', 'Sec-Fetch-Dest: iframe'],
    ['a script that fetches', 'Sec-Fetch-Dest: empty'],
    ['a proxy that says for whom it asks', 'X-Forwarded-For: 203.0.113.7'],
    ['a proxy that says so by the standard', 'Forwarded: for=203.0.113.7'],
    ['a proxy that names itself', 'Via: 1.1 proxy'],
  ])('for %s', async (_who, header) => {
    expect(await tokenOf(gateway, [hostOf(gateway), header])).toBeUndefined();
  });

  test('with a configured key set', async () => {
    const configured = await startTestGateway({ GRAPHIQL: 'true' }, gateway.database);
    expect(await tokenOf(configured)).toBeUndefined();
    await configured.close();
  });

  test('in production', async () => {
    const production = await startTestGateway({ GRAPHIQL: 'true', NODE_ENV: 'production' }, gateway.database);
    expect(await tokenOf(production)).toBeUndefined();
    await production.close();
  });

  test('in production, even were the development key in use', () => {
    const config = readConfig({ ...settingsFor(gateway.database), NODE_ENV: 'production' });
    expect(createPageToken({ ...config, keySet: { kind: 'development' } })).toBeUndefined();
  });

  test.each([
    ['https://gateway.example.test', false],
    ['http://localhost.example.test:4000/path', false],
    ['http://localhost:8080/path', true],
  ])('where clients know the gateway as %s: %s', (PUBLIC_URL, holds) => {
    const config = readConfig({ PUBLIC_URL });
    expect(createPageToken(config) !== undefined).toBe(holds);
  });
});
