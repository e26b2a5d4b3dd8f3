import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import Negotiator from 'negotiator';

const gzip = promisify(gzipWithCallback);

/** A file of a page, plain and compressed. */
export type Asset = { type: string; plain: Uint8Array; gzip: Uint8Array };

/** Files by name. A name contains a hash of the content, so that the file can be cached forever. */
export type Assets = Map<string, Asset>;

/** The paths of the files that a page loads, relative to the page. */
export type PageFiles = { script: string; style: string; icon: string; boot: string };

/** The parts of an HTML page. */
type PageParts = {
  title: string;
  icon: string;
  /** The element with the style sheet. */
  style: string;
  /** In loading order. */
  scripts: readonly string[];
  body: string;
};

/** The element of a style sheet that is a file. */
export function linkStyle(path: string): string {
  return `<link rel="stylesheet" href="${path}">`;
}

/** Returns whether the client prefers `text/html`; `false` without a preference. */
export function prefersPage(request: IncomingMessage, others: readonly string[]): boolean {
  return new Negotiator(request).mediaType([...others, 'text/html']) === 'text/html';
}

/** Renders a page without inline scripts. All paths are relative, so that a proxy can add a prefix. */
export function renderHtml({ title, icon, style, scripts, body }: PageParts): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <meta name="color-scheme" content="light dark">
    <title>Workspace account gateway: ${title}</title>
    <link rel="icon" href="${icon}">
    ${style}
${scripts.map((script) => `    <script src="${script}" defer></script>`).join('\n')}
  </head>
${body}
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

/** The file extensions of assets. */
export type AssetType = keyof typeof types;

/** Adds a file and returns its name: `boot-0123456789abcdef.js`. */
export async function addAsset(
  assets: Assets,
  stem: string,
  extension: AssetType,
  content: string | Buffer,
): Promise<string> {
  const plain = Buffer.from(content);
  const name = `${stem}-${hash('sha256', plain, 'hex').slice(0, 16)}.${extension}`;
  assets.set(name, { type: types[extension], plain, gzip: await gzip(plain) });
  return name;
}

/** The CSP `form-action`. */
type FormAction = "'none'" | "'self'";

// Restricts scripts and requests to this origin. Pages use inline styles, and fonts and images in data URLs.
const security = (formAction: FormAction) => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "connect-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    "base-uri 'none'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
});

/** Sends an HTML page. By default, its forms cannot be submitted. */
export function sendPage(
  response: ServerResponse,
  page: string,
  caching: 'no-cache' | 'no-store',
  { status = 200, formAction = "'none'" }: { status?: number; formAction?: FormAction } = {},
): void {
  response.writeHead(status, {
    ...security(formAction),
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
    ...security("'none'"),
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Content-Type': asset.type,
    ...(isCompressed && { 'Content-Encoding': 'gzip' }),
    'Content-Length': content.byteLength,
  });
  response.end(content);
}
