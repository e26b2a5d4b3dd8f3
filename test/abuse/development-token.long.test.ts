import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { type DevelopmentGateway, findUrl, startDevelopmentGateway } from '../support/development.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { startServer, type TestServer } from '../support/servers.ts';

/*
 * A development gateway is reached by other machines through a proxy on its machine, which replaces the `Host` and adds
 * no header. A remote visitor sends what a browser on the machine itself could send, but does not know the key that the
 * gateway printed.
 */

let gateway: DevelopmentGateway;
let proxy: TestServer;
let key: string;
beforeAll(async () => {
  gateway = await startDevelopmentGateway({ GRAPHIQL: 'true', LOG_LEVEL: 'trace' });
  proxy = await startForwardingProxy(gateway.address);
  key = new URL(findUrl(gateway, 'GraphiQL')).hash.slice('#key='.length);
});
afterAll(async () => {
  await proxy.close();
  await gateway.close();
});

/** Starts a proxy like nginx's `proxy_pass` without further directives. */
function startForwardingProxy(upstream: string): Promise<TestServer> {
  const { hostname, port, host } = new URL(upstream);
  const server = createServer((request, response) => {
    const { method, url: path, headers } = request;
    const sent = httpRequest({
      hostname,
      port,
      method,
      path,
      headers: { ...headers, host, connection: 'close' },
    });
    request.pipe(sent);
    sent.on('error', () => response.destroy());
    void once(sent, 'response').then(([reply]) => {
      const { connection: _ofUpstream, ...replied } = reply.headers;
      reply.pipe(response.writeHead(reply.statusCode, replied));
    });
  });
  return startServer(server);
}

/** Headers of a browser that opens the page, directly or through a proxy. */
const visitors: [who: string, headers: string[]][] = [
  ['any program', []],
  [
    'a browser that opens the page',
    ['Sec-Fetch-Site: none', 'Sec-Fetch-Dest: document', 'Accept: text/html'],
  ],
  ['the page itself', ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Dest: empty']],
  [
    'a program that claims to be local',
    [
      'Origin: http://127.0.0.1:4000',
      'X-Forwarded-For: 127.0.0.1',
      'X-Real-IP: 127.0.0.1',
      'Forwarded: for=127.0.0.1;host=localhost',
      'X-Forwarded-Host: localhost',
      'Accept: text/html',
    ],
  ],
];

/** Expects no key, and no token, which begins like every one that jose signs: `{"` in base64url. */
function expectNoSecret(text: string): void {
  expect(text).not.toMatch(/eyJ[\w-]+\.[\w-]+\.[\w-]+/);
  expect(text).not.toContain(key);
}

const wrongKey = () => randomBytes(32).toString('base64url');

test.each(visitors)('pages and documents have neither token nor key for %s', async (_who, headers) => {
  const pages = ['/', '/graphql', '/graphql/', '/graphql/token', '/docs'];
  for (const path of [...pages, '/openapi.json', '/healthz', '/metrics']) {
    for (const method of ['GET', 'OPTIONS'])
      expectNoSecret((await sendRaw({ address: proxy.url }, rawRequest(`${method} ${path}`, headers))).text);
  }
});

test('a POST of a visitor who guesses receives no token', async () => {
  const guesses = [
    ...['', '{}', '{"key":""}', '{"key":true}', '{"key":', '{"__proto__":{"key":"a"}}'],
    `{"key":"${wrongKey()}","key":"${wrongKey()}"}`,
    JSON.stringify({ key: 'A'.repeat(1000) }),
  ];
  for (const body of guesses) {
    for (const [, headers] of visitors) {
      const lines = [...headers, 'Content-Type: application/json', `Content-Length: ${body.length}`];
      const request = rawRequest(`POST /graphql/token?key=${wrongKey()}`, lines, body);
      const { status, text } = await sendRaw({ address: proxy.url }, request);
      expect([400, 404]).toContain(status);
      expectNoSecret(text);
    }
  }
});

/** Sends a key as the page does. */
const exchange = (address: string, given: string) =>
  fetch(`${address}/graphql/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin', Origin: address },
    body: JSON.stringify({ key: given }),
  });

test('many guesses are rejected; with the printed key, a user receives a token, directly and through the proxy', async () => {
  const guesses = Array.from({ length: 500 }, async () => (await exchange(proxy.url, wrongKey())).status);
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([404]));

  for (const address of [gateway.address, proxy.url]) {
    const reply = await exchange(address, key);
    expect(reply.status).toBe(200);
    const { token } = await reply.json();
    const { data } = await graphql({ address }, '{ workspaces { totalCount } }', {}, { token });
    expect(data).toEqual({ workspaces: { totalCount: 0 } });
  }
});

test('nothing that arrived is in the log', () => {
  const log = gateway.logLines().join('\n');
  expect(log).toContain('/graphql/token');
  expectNoSecret(log);
});
