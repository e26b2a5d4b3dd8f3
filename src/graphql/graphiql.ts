import { fork } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzip } from 'node:zlib';
import type { Asset, Prepared } from './graphiql-assets.ts';
import { renderPage } from './graphiql-page.ts';
import type { PageToken } from './graphiql-token.ts';

/** Answers the GraphiQL page and its assets, and hands any other request on. */
export type Graphiql = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const pagePath = '/graphql';
const assetsPath = '/graphql/assets/';

// The scripts, GraphiQL's workers too, may load from and talk to this origin and no other. Its editor writes style
// attributes and elements, and its style sheet carries fonts and images in itself.
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

/**
 * Prepares GraphiQL, served from this process alone: about half a second in a process of its own, and 2.5 MB kept. Its
 * header editor holds what `token` makes.
 *
 * @throws when the files cannot be prepared.
 */
export async function createGraphiql(token?: PageToken): Promise<Graphiql> {
  const { files, assets } = await prepare();

  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (path === pagePath && prefersPage(request.headers.accept)) {
      const made = token?.(request) ?? Promise.resolve(null);
      made.then((value) => sendPage(response, renderPage(files, value))).catch(next);
      return;
    }
    const asset = path.startsWith(assetsPath) ? assets.get(path.slice(assetsPath.length)) : undefined;
    if (asset === undefined) return next();
    sendAsset(request, response, asset);
  };
}

function prepare(): Promise<Prepared> {
  const child = fork(new URL('./graphiql-assets.ts', import.meta.url), {
    env: {},
    execArgv: [],
    serialization: 'advanced',
  });
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    // Unlike its exit, the end of the channel cannot overtake a message.
    child.once('disconnect', () => reject(new Error('GraphiQL: the process preparing its files sent none')));
  });
}

function sendPage(response: ServerResponse, page: string): void {
  // The same address answers GraphQL.
  response.appendHeader('Vary', 'Accept');
  response.writeHead(200, {
    ...security,
    // It may hold a token.
    'Cache-Control': 'no-store',
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(page),
  });
  response.end(page);
}

function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
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

/**
 * Whether the page is wanted rather than GraphQL's JSON. HTML has to be asked for by name: where both weigh the same
 * and neither is named, the caller is a program.
 */
function prefersPage(accept: string | undefined): boolean {
  const weight = weights(accept);
  const html = weight.get('text/html') ?? 0;
  const json = Math.max(
    weight.get('application/json') ?? -1,
    weight.get('application/graphql-response+json') ?? -1,
  );
  if (json >= 0) return html > json;
  return html > 0 && html >= (weight.get('application/*') ?? weight.get('*/*') ?? 0);
}

function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const weight = weights([acceptEncoding ?? ''].flat().join());
  return (weight.get('gzip') ?? weight.get('*') ?? 0) > 0;
}

/** The weights that a header of the Accept family gives, by lower-case name (RFC 9110, section 12.4.2). */
function weights(header = ''): Map<string, number> {
  const found = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    found.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  return found;
}
