import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const gateway = useGateway();
let withGraphiql: TestGateway;
beforeAll(async () => {
  withGraphiql = await startTestGateway({ GRAPHIQL: 'true' }, gateway.database);
});
afterAll(() => withGraphiql.close());

const get = ({ address }: TestGateway, accept: string, method = 'GET') =>
  fetch(`${address}/`, { method, headers: { Accept: accept } });

test('returns browsers a page with working links to GraphiQL, the reference and the OpenAPI document', async () => {
  const page = await (await get(withGraphiql, browser)).text();
  const links = [...page.matchAll(/<a href="([^"]+)">/g)].map(([, link = '']) => link);
  expect(links).toEqual(['graphql', 'docs', 'openapi.json']);
  for (const link of links) {
    const { status } = await fetch(`${withGraphiql.address}/${link}`, { headers: { Accept: browser } });
    expect({ link, status }).toEqual({ link, status: 200 });
  }
});

test('does not link to GraphiQL if it is off', async () => {
  const page = await (await get(gateway, browser)).text();
  expect(page).not.toContain('href="graphql"');
  expect(page).toContain('href="docs"');
});

test.each(['*/*', 'application/json', 'application/json, text/html', 'image/png', 'text/html;q=0'])(
  'returns the 404 of an unknown path to a client that accepts %s',
  async (accept) => {
    const response = await get(gateway, accept);
    const unknown = await fetch(`${gateway.address}/nowhere`);
    expect([response.status, response.headers.get('vary')]).toEqual([404, 'Accept']);
    expect(await response.text()).toBe(await unknown.text());
  },
);

test('the page has the same headers as the other pages, and varies by Accept', async () => {
  const start = await get(gateway, browser);
  const reference = await fetch(`${gateway.address}/docs`);
  const security = [
    'content-security-policy',
    'referrer-policy',
    'x-content-type-options',
    'x-frame-options',
    'cross-origin-resource-policy',
    'cache-control',
    'content-type',
  ];
  for (const name of security) expect(start.headers.get(name), name).toBe(reference.headers.get(name));
  expect(start.headers.get('vary')).toBe('Accept');
});

test('supports HEAD, and returns 404 for methods other than GET and HEAD', async () => {
  const head = await get(gateway, browser, 'HEAD');
  const page = await (await get(gateway, browser)).text();
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(page))]);
  expect((await get(gateway, browser, 'POST')).status).toBe(404);
});
