import { beforeAll, describe, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';

const gateway = useGateway();
let page: string;
beforeAll(async () => {
  page = await (await get('/docs')).text();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.address}${path}`, { headers });

/** The paths that the page loads, as written in it. */
const findAssets = () =>
  [...page.matchAll(/(?:link rel=".+" href|src)="([^"]+)"/g)].map(([, path]) => `${path}`);
const findAsset = (part: string) => findAssets().find((path) => path.includes(part)) ?? '';

describe('the page', () => {
  test('needs no token and restricts scripts, requests and framing to its own origin', async () => {
    const { status, headers } = await get('/docs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')?.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-cache');
  });

  test('has no inline scripts, and refers to no other origin, nor does the script that starts it', async () => {
    const script = await (await get(`/${findAsset('/boot-')}`)).text();
    expect(script).toContain('SwaggerUIBundle(');
    expect(script).toContain('validatorUrl: null');
    for (const text of [page, script]) expect(text).not.toMatch(/(https?:)?\/\/[\w-]+\.[\w-]/);
    expect(page).not.toMatch(/<script>|<style|\son\w+=/);
  });

  test('works with a path prefix: it loads its assets from relative paths', () => {
    expect(findAssets()).toHaveLength(4);
    for (const path of findAssets()) expect(path).toMatch(/^docs\/assets\/[\w-]+\.(js|css|png)$/);
  });

  test('supports HEAD, and no other method than GET', async () => {
    const { status, headers } = await fetch(`${gateway.address}/docs`, { method: 'HEAD' });
    expect([status, headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(page))]);
    expect((await fetch(`${gateway.address}/docs`, { method: 'POST' })).status).toBe(404);
  });
});

describe('its assets', () => {
  test('have the right content types and are cached permanently', async () => {
    const types = await Promise.all(
      findAssets().map(async (path) => {
        const { status, headers } = await get(`/${path}`);
        expect({ path, status }).toEqual({ path, status: 200 });
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        return headers.get('content-type');
      }),
    );
    expect(types.sort()).toEqual([
      'image/png',
      'text/css; charset=utf-8',
      'text/javascript; charset=utf-8',
      'text/javascript; charset=utf-8',
    ]);
  });

  test('are the same with and without compression', async () => {
    const path = `/${findAsset('/swagger-ui-')}`;
    const packed = await get(path, { 'Accept-Encoding': 'gzip' });
    const plain = await get(path, { 'Accept-Encoding': 'identity' });
    expect([packed, plain].map(({ headers }) => headers.get('content-encoding'))).toEqual(['gzip', null]);
    expect(await packed.text()).toBe(await plain.text());
  });

  test.each([
    '/docs/',
    '/docs/assets/',
    '/docs/assets/none.js',
    '/docs/assets/swagger-ui-bundle.js',
    '/docs/assets/..%2f..%2fpackage.json',
    '/DOCS',
  ])('%s returns 404', async (path) => {
    const { status, headers } = await get(path);
    expect([status, headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
  });
});
