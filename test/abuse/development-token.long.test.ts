import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { type DevelopmentGateway, findGraphiqlUrl, startDevelopmentGateway } from '../support/development.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { startForwardingProxy } from './support/forwarding-proxy.ts';

/*
 * A development gateway is reached by other machines through a proxy on its machine, which replaces the `Host` and adds
 * no header. A remote visitor sends what a browser on the machine itself could send, but does not know the key that the
 * gateway printed.
 */

let gateway: DevelopmentGateway;
let proxy: Awaited<ReturnType<typeof startForwardingProxy>>;
let key: string;
beforeAll(async () => {
  gateway = await startDevelopmentGateway({ GRAPHIQL: 'true', LOG_LEVEL: 'trace' });
  proxy = await startForwardingProxy(gateway.address);
  key = new URL(findGraphiqlUrl(gateway)).hash.slice('#key='.length);
});
afterAll(async () => {
  await proxy.close();
  await gateway.close();
});

/** Headers of a browser that opens the page, directly or through a proxy. */
const visitors: Record<string, readonly string[]> = {
  'any program': [],
  'a browser that opens the page': ['Sec-Fetch-Site: none', 'Sec-Fetch-Dest: document', 'Accept: text/html'],
  'the page itself': ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Dest: empty'],
  'a program that claims to be local': [
    'Origin: http://127.0.0.1:4000',
    'X-Forwarded-For: 127.0.0.1',
    'X-Real-IP: 127.0.0.1',
    'Forwarded: for=127.0.0.1;host=localhost',
    'X-Forwarded-Host: localhost',
    'Accept: text/html',
  ],
};

const paths = [
  '/',
  '/graphql',
  '/graphql/',
  '/graphql/token',
  '/docs',
  '/openapi.json',
  '/healthz',
  '/metrics',
];

/** Reads the page's files, and those that they load, by path. */
async function readAssets(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const read = async (path: string) => {
    const text = await (await fetch(`${proxy.address}${path}`, { headers: { Accept: 'text/html' } })).text();
    found.set(path, text);
    for (const [name] of text.matchAll(/[\w-]+-[0-9a-f]{16}\.(?:js|css|ico)/g)) {
      if (!found.has(`/graphql/assets/${name}`)) await read(`/graphql/assets/${name}`);
    }
  };
  await read('/graphql');
  return found;
}

/** Every token that jose signs begins like this: `{"` in base64url. */
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;

function expectNoSecret(text: string): void {
  expect(text).not.toMatch(TOKEN);
  expect(text).not.toContain(key);
}

const KEY_LENGTH = 43;
const wrongKey = () => randomBytes(32).toString('base64url');

/** Bodies of a visitor who guesses. */
const guesses: Record<string, () => string> = {
  'no body': () => '',
  'an empty object': () => '{}',
  'an empty key': () => JSON.stringify({ key: '' }),
  'a random key': () => JSON.stringify({ key: wrongKey() }),
  'another type': () => JSON.stringify({ key: true }),
  'a key of zeros': () => JSON.stringify({ key: 'A'.repeat(KEY_LENGTH) }),
  'an inherited property': () => '{"__proto__":{"key":"a"}}',
  'duplicate properties': () => `{"key":"${wrongKey()}","key":"${wrongKey()}"}`,
  'invalid JSON': () => '{"key":',
  'a long key': () => JSON.stringify({ key: 'A'.repeat(1000) }),
};

test.each(Object.keys(visitors))('pages and documents have neither token nor key for %s', async (who) => {
  for (const to of [proxy, gateway]) {
    for (const path of paths) {
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const { text } = await sendRaw(to, rawRequest(`${method} ${path}`, visitors[who]));
        expectNoSecret(text);
      }
    }
  }
});

test("the page's files have neither token nor key", async () => {
  const assets = await readAssets();
  expect(assets.size).toBeGreaterThan(6);
  for (const text of assets.values()) expectNoSecret(text);
});

test.each(Object.keys(guesses))('a POST with %s receives no token', async (guess) => {
  for (const headers of Object.values(visitors)) {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      for (const path of ['/graphql/token', `/graphql/token?key=${wrongKey()}`]) {
        const body = guesses[guess]?.() ?? '';
        const lines = [...headers, `Content-Type: ${type}`, `Content-Length: ${body.length}`];
        const { status, text } = await sendRaw(proxy, rawRequest(`POST ${path}`, lines, body));
        expect([400, 404]).toContain(status);
        expectNoSecret(text);
      }
    }
  }
});

test('many guesses are rejected, and do not end the validity of the key', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 500 }, async () => (await exchange(proxy.address, wrongKey())).status),
  );
  expect(new Set(statuses)).toEqual(new Set([404]));
  expect((await exchange(gateway.address, key)).status).toBe(200);
});

test('the user who has the printed URL receives a token, directly and through the proxy', async () => {
  for (const { address } of [gateway, proxy]) {
    const { status, text } = await exchange(address, key);
    expect(status).toBe(200);
    const { token } = JSON.parse(text);
    const { data } = await graphql({ address }, '{ workspaces { totalCount } }', {}, { token });
    expect(data).toEqual({ workspaces: { totalCount: 0 } });
  }
});

test('nothing that arrived is in the log', () => {
  const log = gateway.logLines().join('\n');
  expect(log).toContain('/graphql/token');
  expectNoSecret(log);
});

/** Sends a key as the page does. */
async function exchange(address: string, given: string) {
  const reply = await fetch(`${address}/graphql/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin', Origin: address },
    body: JSON.stringify({ key: given }),
  });
  return { status: reply.status, text: await reply.text() };
}
