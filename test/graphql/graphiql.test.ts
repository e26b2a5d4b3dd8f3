import { beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, useGateway } from '../support/gateway.ts';

const enabled = useGateway({ GRAPHIQL: 'true' });
const disabled = useGateway();
let page: string;
beforeAll(async () => {
  page = await (await get(enabled, '/graphql')).text();
});

const get = ({ address }: TestGateway, path: string, accept = 'text/html,*/*;q=0.8') =>
  fetch(`${address}${path}`, { headers: { Accept: accept } });

const assetPaths = () => [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => `/${path}`);

describe('the page', () => {
  test('restricts scripts, requests and framing to its own origin', async () => {
    const { status, headers } = await get(enabled, '/graphql');
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

  test('refers to no other origin, nor does the script that starts it', async () => {
    const boot = assetPaths().find((path) => path.includes('/boot-')) ?? '';
    const script = await (await get(enabled, boot)).text();
    expect(script).toContain('renderYogaGraphiQL');
    for (const text of [page, script]) expect(text).not.toMatch(/(https?:)?\/\/[\w-]+\.[\w-]/);
    expect(page).not.toMatch(/<script>|<style|\son\w+=/);
  });

  test.each(['application/json', 'application/graphql-response+json, text/html;q=0.5', '*/*'])(
    'is not sent to a caller that accepts %s',
    async (accept) => {
      const { status, headers } = await get(enabled, '/graphql', accept);
      expect(status).toBe(401);
      expect(headers.get('content-type')).toMatch(/^application\/(graphql-response\+)?json/);
    },
  );
});

describe('its assets', () => {
  test('have the right content types and are cached permanently', async () => {
    const types = await Promise.all(
      assetPaths().map(async (path) => {
        const { status, headers } = await get(enabled, path, '*/*');
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

  test('are compressed with gzip only if the client accepts it', async () => {
    const path = assetPaths().find((one) => one.endsWith('.css')) ?? '';
    const [compressed, plain] = await Promise.all(
      ['gzip', 'identity'].map((encoding) =>
        fetch(`${enabled.address}${path}`, { headers: { 'Accept-Encoding': encoding } }),
      ),
    );
    expect(compressed?.headers.get('content-encoding')).toBe('gzip');
    expect(plain?.headers.get('content-encoding')).toBeNull();
    expect(await compressed?.text()).toBe(await plain?.text());
  });

  test('return 404 for unknown names', async () => {
    expect((await get(enabled, '/graphql/assets/none.js')).status).toBe(404);
    expect((await get(enabled, '/graphql/assets/../../package.json')).status).toBe(404);
  });
});

test('neither the page nor its assets exist if GRAPHIQL is off', async () => {
  expect((await get(disabled, '/graphql')).status).toBe(401);
  for (const path of assetPaths()) expect((await get(disabled, path)).status).toBe(404);
});
