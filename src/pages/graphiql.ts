import { fork } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import { requestPath } from '../http/address.ts';
import { lazy } from '../values/lazy.ts';
import type { Prepared } from './graphiql-assets.ts';
import { renderPage } from './graphiql-page.ts';
import type { PageToken } from './graphiql-token.ts';
import { sendAsset, sendPage } from './page.ts';

/** Serves the GraphiQL page and its assets, and passes on any other request. */
export type Graphiql = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const pagePath = '/graphql';
const assetsPath = '/graphql/assets/';

/**
 * Serves GraphiQL without files from other hosts. Its files are prepared on the first request, in a process of their own,
 * which takes about half a second; they take about 12 MB of memory from then on. `token` creates the token in the page's
 * header editor.
 */
export function createGraphiql(token?: PageToken): Graphiql {
  const files = lazy(prepare);

  async function answerPage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const page = renderPage((await files()).files, (await token?.(request)) ?? null);
    // The same path serves the GraphQL API.
    response.appendHeader('Vary', 'Accept');
    // The page may contain a token.
    sendPage(response, page, 'no-store');
  }

  async function answerAsset(
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
    const path = requestPath(request);
    if (path === pagePath && prefersPage(request)) {
      answerPage(request, response).catch(next);
    } else if (path.startsWith(assetsPath)) {
      answerAsset(request, response, path.slice(assetsPath.length), next).catch(next);
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
    // Unlike `exit`, `disconnect` is emitted after every message.
    child.once('disconnect', () =>
      reject(new Error('GraphiQL: the process that prepares its files exited without sending them')),
    );
  });
}

/** The media types of this path. A client without a preference is a program and gets the first. */
const mediaTypes = ['application/json', 'application/graphql-response+json', 'text/html'];

function prefersPage(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaType(mediaTypes) === 'text/html';
}
