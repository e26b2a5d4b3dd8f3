import { fork } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { lazy } from '../values/lazy.ts';
import type { Prepared } from './graphiql-assets.ts';
import { renderPage } from './graphiql-page.ts';
import { prefersPage, sendAsset, sendPage } from './page.ts';

/** The path of the page, the other media types that it serves, and whether the page can get a token. */
type GraphiqlOptions = { path: string; resultTypes: readonly string[]; grantsTokens: boolean };

/**
 * Serves the GraphiQL page and its assets, without a CDN. The first request prepares the files in a separate process,
 * which takes about half a second; they occupy about 12 MB.
 */
export function createGraphiql({
  path: pagePath,
  resultTypes,
  grantsTokens,
}: GraphiqlOptions): RequestHandler {
  const assetsPath = `${pagePath}/assets/`;
  const files = lazy(prepare);

  async function servePage(response: ServerResponse): Promise<void> {
    const page = renderPage((await files()).files, grantsTokens);
    // The same path serves GraphQL.
    response.appendHeader('Vary', 'Accept');
    sendPage(response, page, 'no-cache');
  }

  async function serveAsset(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    next: () => void,
  ): Promise<void> {
    const asset = (await files()).assets.get(name);
    if (asset === undefined) next();
    else sendAsset(request, response, asset);
  }

  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    const { path } = request;
    if (path === pagePath && prefersPage(request, resultTypes)) {
      servePage(response).catch(next);
    } else if (path.startsWith(assetsPath)) {
      serveAsset(request, response, path.slice(assetsPath.length), next).catch(next);
    } else next();
  };
}

/** @throws {Error} if the files cannot be prepared */
function prepare(): Promise<Prepared> {
  const child = fork(new URL('./graphiql-assets.ts', import.meta.url), {
    env: {},
    execArgv: [],
    serialization: 'advanced',
  });
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    // "disconnect" follows all messages; "exit" may precede them.
    child.once('disconnect', () => reject(new Error('The process that prepares GraphiQL sent no files.')));
  });
}
