import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, gzip as gzipWithCallback } from 'node:zlib';
import { weights } from './accept.ts';

const gzip = promisify(gzipWithCallback);

/** One file that a page loads, kept only as gzip. */
export type Asset = { type: string; gzip: Uint8Array };

/** Files by names that change with their content, so that they may be cached for good. */
export type Assets = Map<string, Asset>;

/** The media types of files by their extension. */
const types = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  png: 'image/png',
};

/** The extensions of the files that pages load. */
export type AssetType = keyof typeof types;

/** Keeps a file, and answers the name that it goes by: `boot-0123456789abcdef.js`. */
export async function addAsset(
  assets: Assets,
  stem: string,
  extension: AssetType,
  content: string | Buffer,
): Promise<string> {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const name = `${stem}-${hash}.${extension}`;
  assets.set(name, { type: types[extension], gzip: await gzip(content) });
  return name;
}

// The scripts may load from and talk to this origin and no other. Both pages write style attributes and elements, and
// their style sheets carry fonts and images in themselves.
const security = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "connect-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Answers a page of HTML without inline scripts. */
export function sendPage(response: ServerResponse, page: string, caching: 'no-cache' | 'no-store'): void {
  response.writeHead(200, {
    ...security,
    'Cache-Control': caching,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(page),
  });
  response.end(page);
}

/** Answers a file, unpacked for whoever does not take gzip. */
export function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  const headers = {
    ...security,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Content-Type': asset.type,
  };
  response.appendHeader('Vary', 'Accept-Encoding');
  if (acceptsGzip(request.headers['accept-encoding'])) {
    response.writeHead(200, {
      ...headers,
      'Content-Encoding': 'gzip',
      'Content-Length': asset.gzip.byteLength,
    });
    response.end(asset.gzip);
    return;
  }
  gunzip(asset.gzip, (error, content) => {
    if (error) response.destroy(error);
    else response.writeHead(200, { ...headers, 'Content-Length': content.byteLength }).end(content);
  });
}

function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const weight = weights([acceptEncoding ?? ''].flat().join());
  return (weight.get('gzip') ?? weight.get('*') ?? 0) > 0;
}
