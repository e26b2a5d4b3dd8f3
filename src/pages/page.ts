import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import type { RequestHandler } from 'express';
import Negotiator from 'negotiator';
import { lazy } from '../values/lazy.ts';

const gzip = promisify(gzipWithCallback);

/** A file of a page, plain and compressed. */
type Asset = { type: string; plain: Buffer; gzip: Buffer };

/** Files by name. A name contains a hash of the content, so that the file can be cached forever. */
export type Assets = Map<string, Asset>;

/** An HTML page, and the files that it loads from `assets/` below its path. */
export type Page = { html: string; assets: Assets };

/** Renders an HTML page. Its paths are relative, so that a proxy can add a prefix. */
export function renderHtml(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <meta name="color-scheme" content="light dark">
    <title>Workspace account gateway: ${title}</title>
    ${head}
  </head>
  <body>
    ${body}
  </body>
</html>
`;
}

/** Media types by file extension. */
const types = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  png: 'image/png',
};

/** Adds a file and returns its name: `boot-0123456789abcdef.js`. */
export async function addAsset(
  assets: Assets,
  stem: string,
  extension: keyof typeof types,
  content: string | Buffer,
): Promise<string> {
  const plain = Buffer.from(content);
  const name = `${stem}-${hash('sha256', plain, 'hex').slice(0, 16)}.${extension}`;
  assets.set(name, { type: types[extension], plain, gzip: await gzip(plain) });
  return name;
}

/** Serves a page and its files, which are prepared at the first request. */
export function servePage(prepare: () => Promise<Page>): RequestHandler {
  const open = lazy(prepare);
  return async (request, response, next) => {
    const { html, assets } = await open();
    const [, name] = request.path.split('/assets/');
    const asset = assets.get(name ?? '');
    if (name === undefined) sendPage(response, html);
    else if (asset === undefined) next();
    else sendAsset(request, response, asset);
  };
}

// Restricts scripts and requests to this origin. Pages use inline styles, and fonts and images in data URLs.
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

function sendPage(response: ServerResponse, page: string): void {
  response.writeHead(200, {
    ...security,
    'Cache-Control': 'no-cache',
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(page),
  });
  response.end(page);
}

/** Sends a file, uncompressed to a client that does not accept gzip. */
function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  const isCompressed = new Negotiator(request).encodings(['gzip']).length > 0;
  const content = isCompressed ? asset.gzip : asset.plain;
  response.appendHeader('Vary', 'Accept-Encoding');
  response.writeHead(200, {
    ...security,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Content-Type': asset.type,
    ...(isCompressed && { 'Content-Encoding': 'gzip' }),
    'Content-Length': content.byteLength,
  });
  response.end(content);
}
