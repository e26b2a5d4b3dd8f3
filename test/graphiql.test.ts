import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { graphql } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { member } from './support/tokens.ts';

let on: TestGateway;
let off: TestGateway;
let page: string;
beforeAll(async () => {
  [on, off] = await Promise.all([startTestGateway({ GRAPHIQL: 'true' }), startTestGateway()]);
  page = await (await get(on, '/graphql')).text();
});
afterAll(() => Promise.all([on.close(), off.close()]));

const get = ({ address }: TestGateway, path: string, accept = 'text/html,*/*;q=0.8') =>
  fetch(`${address}${path}`, { headers: { Accept: accept } });

const assetPaths = () => [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => `/${path}`);

/** The body as it came over the wire; `fetch` would decompress it. */
function raw(path: string): Promise<{ encoding: string | undefined; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { 'Accept-Encoding': 'gzip' };
    const sent = request(`${on.address}${path}`, { headers }, async (response) => {
      const chunks: Buffer[] = await response.toArray();
      resolve({ encoding: response.headers['content-encoding'], body: Buffer.concat(chunks) });
    });
    sent.on('error', reject).end();
  });
}

describe('the page', () => {
  test('may load and talk to its own origin alone, and be framed by nobody', async () => {
    const { status, headers } = await get(on, '/graphql');
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

  test('names no other origin, neither itself nor in the script that starts it', async () => {
    const boot = assetPaths().find((path) => path.includes('/boot-')) ?? '';
    const script = await (await get(on, boot)).text();
    expect(script).toContain('renderYogaGraphiQL');
    for (const text of [page, script]) expect(text).not.toMatch(/(https?:)?\/\/[\w-]+\.[\w-]/);
    expect(page).not.toMatch(/<script>|<style|\son\w+=/);
  });

  test.each(['application/json', 'application/graphql-response+json, text/html;q=0.5', '*/*'])(
    'is not sent to a caller that accepts %s',
    async (accept) => {
      const { status, headers } = await get(on, '/graphql', accept);
      expect(status).toBe(401);
      expect(headers.get('content-type')).toMatch(/^application\/(graphql-response\+)?json/);
    },
  );
});

describe('its files', () => {
  test('have the right types and may be cached for good', async () => {
    const types = await Promise.all(
      assetPaths().map(async (path) => {
        const { status, headers } = await get(on, path, '*/*');
        expect({ path, status }).toEqual({ path, status: 200 });
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        return headers.get('content-type');
      }),
    );
    expect(types.sort()).toEqual([
      'image/x-icon',
      'text/css; charset=utf-8',
      'text/javascript; charset=utf-8',
      'text/javascript; charset=utf-8',
    ]);
  });

  test('are sent as gzip to whom takes it, and otherwise as they are', async () => {
    const path = assetPaths().find((one) => one.endsWith('.css')) ?? '';
    const { encoding, body } = await raw(path);
    expect(encoding).toBe('gzip');
    const plain = await fetch(`${on.address}${path}`, { headers: { 'Accept-Encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(Buffer.from(await plain.arrayBuffer()).equals(gunzipSync(body))).toBe(true);
  });

  test('of other names are not found', async () => {
    expect((await get(on, '/graphql/assets/none.js')).status).toBe(404);
    expect((await get(on, '/graphql/assets/../../package.json')).status).toBe(404);
  });
});

describe('while it is on', () => {
  test('introspection needs no token, by POST and by GET', async () => {
    const query = '{ __schema { queryType { name } } __type(name: "Query") { name } __typename }';
    const { status, data } = await graphql(on, query);
    expect({ status, name: data.__schema.queryType.name }).toEqual({ status: 200, name: 'Query' });
    const byGet = await get(on, `/graphql?query=${encodeURIComponent(query)}`, 'application/json');
    expect(byGet.status).toBe(200);
  });

  test.each([
    ['alone', '{ workspaces { totalCount } }'],
    ['beside introspection', '{ __typename workspaces { totalCount } }'],
    ['under an alias that looks like introspection', '{ __schema: workspaces { totalCount } }'],
    ['in an inline fragment', '{ __typename ... { ... on Query { workspaces { totalCount } } } }'],
    [
      'in a named fragment',
      '{ __typename ...F } fragment F on Query { ...G } fragment G on Query { workspaces { totalCount } }',
    ],
    ['in another operation of the document', 'query A { __typename } query B { workspaces { totalCount } }'],
    ['in a mutation', 'mutation { deleteEditorAuth { __typename } }'],
    ['left out by a directive', '{ __typename workspaces @skip(if: true) { totalCount } }'],
    ['unknown', '{ noSuchField }'],
    ['unreadable', '{ __typename'],
  ])('any other field without a token is a 401: %s', async (_where, query) => {
    const { status, data, errors, headers } = await graphql(on, query);
    expect({ status, data }).toEqual({ status: 401, data: undefined });
    expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    expect(headers.get('www-authenticate')).toBe('Bearer');
  });

  test.each(['', 'not json', '[]', '{}', '{"query":7}', 'null'])(
    'a body without a query is a 401: %j',
    async (body) => {
      const headers = { 'Content-Type': 'application/json' };
      const { status } = await fetch(`${on.address}/graphql`, { method: 'POST', headers, body });
      expect(status).toBe(401);
    },
  );

  test('a token that does not hold is refused even for introspection', async () => {
    const { status, headers } = await graphql(on, '{ __typename }', {}, { token: 'no-token' });
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
  });
});

describe('while it is off', () => {
  test('there is neither page nor file', async () => {
    expect((await get(off, '/graphql')).status).toBe(401);
    for (const path of assetPaths()) expect((await get(off, path)).status).toBe(404);
  });

  test('introspection needs a token', async () => {
    expect((await graphql(off, '{ __typename }')).status).toBe(401);
    const { data } = await graphql(
      off,
      '{ __schema { queryType { name } } }',
      {},
      { token: await member('a') },
    );
    expect(data.__schema.queryType.name).toBe('Query');
  });
});
