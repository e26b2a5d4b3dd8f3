import type { IncomingMessage, ServerResponse } from 'node:http';
import { prefersPage, sendPage } from './page.ts';
import { renderTextPage } from './text-page.ts';

/** A link of the page, relative to its address. */
type Link = { address: string; name: string; description: string };

const graphiql: Link = {
  address: 'graphql',
  name: 'GraphiQL',
  description: 'Explore the GraphQL schema and run operations.',
};

const documents: readonly Link[] = [
  { address: 'docs', name: 'REST reference', description: 'Every path of the REST API, with examples.' },
  { address: 'openapi.json', name: 'openapi.json', description: 'The REST API as an OpenAPI document.' },
];

/** Serves the page of the root address to browsers. Passes requests of other clients to `next`. */
export function serveStart(hasGraphiql: boolean) {
  const page = renderStart(hasGraphiql ? [graphiql, ...documents] : documents);
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    response.appendHeader('Vary', 'Accept');
    if (prefersPage(request, ['application/json'])) sendPage(response, page, 'no-cache');
    else next();
  };
}

function renderStart(links: readonly Link[]): string {
  const items = links.map(
    ({ address, name, description }) => `
      <dt><a href="${address}">${name}</a></dt>
      <dd>${description}</dd>`,
  );
  return renderTextPage(
    'Start',
    `<h1>Workspace account gateway</h1>
    <p>An account and integrations service with GraphQL and REST APIs.</p>
    <dl>${items.join('')}
    </dl>`,
  );
}
