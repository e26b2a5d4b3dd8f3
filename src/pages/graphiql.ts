import { fork } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import { requestPath } from '../http/address.ts';
import { lazy } from '../values/lazy.ts';
import type { Prepared } from './graphiql-assets.ts';
import { renderPage } from './graphiql-page.ts';
import type { PageToken } from './graphiql-token.ts';
import { sendAsset, sendPage } from './page.ts';

/** Answers the GraphiQL page and its assets, and hands any other request on. */
export type Graphiql = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

const pagePath = '/graphql';
const assetsPath = '/graphql/assets/';

/**
 * Serves GraphiQL from this process alone. Its files are prepared when somebody first asks for them, in about half a
 * second and a process of its own; about 12 MB are kept from then on. The page's header editor holds what `token` makes.
 */
export function createGraphiql(token?: PageToken): Graphiql {
  const files = lazy(prepare);

  async function answerPage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const page = renderPage((await files()).files, (await token?.(request)) ?? null);
    // The same address answers GraphQL.
    response.appendHeader('Vary', 'Accept');
    // It may hold a token.
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

/** @throws {Error} when the files cannot be prepared */
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

/** What this address serves. A client without a preference is a program, and gets the first. */
const mediaTypes = ['application/json', 'application/graphql-response+json', 'text/html'];

function prefersPage(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaType(mediaTypes) === 'text/html';
}
