import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import Negotiator from 'negotiator';
import { menuStyle, renderBootScript } from './graphiql-boot.ts';
import { type Assets, addAsset, type Page, renderHtml, servePage } from './page.ts';
import { renderRoot } from './token-script.ts';

/**
 * Serves GraphiQL and its files, without a CDN. The first request loads them, which takes half a second and 50 MB. The
 * path also serves GraphQL: clients that prefer one of `resultTypes` to HTML receive a result.
 */
export function serveGraphiql(resultTypes: readonly string[], grantsTokens: boolean): RequestHandler {
  const serve = servePage(() => prepare(grantsTokens));
  return (request, response, next) => {
    if (!request.path.includes('/assets/')) {
      if (!prefersHtml(request, resultTypes)) return next();
      response.appendHeader('Vary', 'Accept');
    }
    return serve(request, response, next);
  };
}

/** Returns whether the client prefers HTML; `false` without a preference. */
function prefersHtml(request: IncomingMessage, others: readonly string[]): boolean {
  return new Negotiator(request).mediaType([...others, 'text/html']) === 'text/html';
}

async function prepare(grantsTokens: boolean): Promise<Page> {
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql');
  const assets: Assets = new Map();
  const icon = Buffer.from(graphiql.favicon.slice(graphiql.favicon.indexOf(',') + 1), 'base64');
  const iconName = await addAsset(assets, 'icon', 'ico', icon);
  const style = await addAsset(assets, 'graphiql', 'css', graphiql.css + menuStyle);
  const script = await addAsset(assets, 'graphiql', 'js', graphiql.js);
  const workers = {
    editorWorkerService: await addAsset(assets, 'editor-worker', 'js', graphiql.editorWorkerService),
    json: await addAsset(assets, 'json-worker', 'js', graphiql.jsonWorker),
    graphql: await addAsset(assets, 'graphql-worker', 'js', graphiql.graphqlWorker),
  };
  const boot = await addAsset(assets, 'boot', 'js', renderBootScript(workers));
  const head = `<link rel="icon" href="graphql/assets/${iconName}">
    <link rel="stylesheet" href="graphql/assets/${style}">
    <script src="graphql/assets/${boot}" defer></script>
    <script src="graphql/assets/${script}" defer></script>`;
  const body = `<noscript>GraphiQL requires JavaScript.</noscript>
    ${renderRoot(grantsTokens)}`;
  return { html: renderHtml('GraphiQL', head, body), assets };
}
