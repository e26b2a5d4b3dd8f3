import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import Negotiator from 'negotiator';

const gzip = promisify(gzipWithCallback);

/** One file that a page loads, held plain and compressed, so that no reply needs a copy of its own. */
export type Asset = { type: string; plain: Uint8Array; gzip: Uint8Array };

/** Files by names that change with their content, so that they may be cached for good. */
export type Assets = Map<string, Asset>;

/** The names of the files that a page loads, relative to the page's own address. */
export type PageFiles = { script: string; style: string; icon: string; boot: string };

/** What an HTML page consists of. */
type Page = {
  title: string;
  icon: string;
  /** The element with the style sheet. */
  style: string;
  /** Loaded in this order. */
  scripts: readonly string[];
  body: string;
};

/** The element of a style sheet that is a file. */
export function linkStyle(address: string): string {
  return `<link rel="stylesheet" href="${address}">`;
}

/** Renders a page without inline scripts. All its addresses are relative, so that a proxy may add a prefix. */
export function renderHtml({ title, icon, style, scripts, body }: Page): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Account gateway: ${title}</title>
    <link rel="icon" href="${icon}">
    ${style}
${scripts.map((script) => `    <script src="${script}" defer></script>`).join('\n')}
  </head>
${body}
</html>
`;
}

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
  const plain = Buffer.from(content);
  const hash = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  const name = `${stem}-${hash}.${extension}`;
  assets.set(name, { type: types[extension], plain, gzip: await gzip(plain) });
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

/** Sends a file, uncompressed to a client that does not accept gzip. */
export function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
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
