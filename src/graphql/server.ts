import type { ErrorRequestHandler, Request, Response } from 'express';
import type { GraphQLSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { ServerContext } from '../context.ts';
import { sendText } from '../http/messages.ts';
import { maskResult } from './errors.ts';
import { createIntrospectionReplies } from './introspection-replies.ts';
import { createDocumentCaches, useDocuments } from './plugins/documents.ts';
import { useExecution } from './plugins/execution.ts';
import { useReplies } from './plugins/replies.ts';
import { resultTypes, useRequest } from './plugins/request.ts';

/** The path of the GraphQL API. */
export const GRAPHQL_PATH = '/graphql';

/** Yoga requires a URL, and reads only its path. */
const REQUEST_URL = `http://localhost${GRAPHQL_PATH}`;

/**
 * Creates the GraphQL server. It handles requests to `/graphql`, and executes the operations of REST routes through
 * `getEnveloped`, which runs only the hook `onExecute` of the plugins below.
 */
export function createGraphQLServer(schema: GraphQLSchema) {
  const documents = createDocumentCaches();
  const replies = createIntrospectionReplies(schema);
  return createYoga<ServerContext>({
    schema,
    plugins: [useRequest(), useDocuments(documents, replies), useExecution(replies), useReplies()],
    parserAndValidationCache: documents,
    graphqlEndpoint: GRAPHQL_PATH,
    // The body is limited where it is read.
    maxRequestBodySize: false,
    // Replaced by `useReplies`, which also sees the errors of requests that were not executed.
    maskedErrors: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    disposeOnProcessTerminate: false,
  });
}

/**
 * Creates the handler of requests to `/graphql`. Yoga negotiates the type of the reply; plugins read the request. Of a request
 * of Node.js, Yoga would also parse the URL and listen for the end of the reply, for as long as an event stream lasts. The
 * handler sends Yoga's reply itself, so that an event stream, which is sent by a plugin, does not keep Yoga's objects of the
 * request in memory, and failures outside Yoga's hooks are masked too.
 */
export function serveGraphQL(yoga: GraphQLServer) {
  return async (req: Request, res: Response): Promise<void> => {
    const { accept = '*/*' } = req.headers;
    // Of one context, Yoga would make the prototype of another. V8 keeps what is a prototype until a major collection, and
    // with it the request: 8 KiB were promoted for each.
    const reply = await yoga.fetch(
      REQUEST_URL,
      { method: req.method, headers: { accept } },
      { req },
      { res },
    );
    if (res.headersSent || res.closed) return;
    res.setHeaders(reply.headers);
    // Yoga's headers of an event stream would allow caches to store it.
    if (req.method === 'GET') res.setHeader('Cache-Control', 'no-store');
    res.writeHead(reply.status).end(await reply.text());
  };
}

/** Replies to a request that a step before Yoga rejected. */
export const sendGraphQLError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
  const { reply, httpErrors } = maskResult({ errors: [error] }, response.locals.record);
  const { status = 500, headers = {} } = httpErrors[0]?.extensions.http ?? {};
  response.setHeaders(new Headers(headers));
  const type = request.accepts([...resultTypes]) || resultTypes[0];
  sendText(response, status, type, JSON.stringify(reply));
};

export type GraphQLServer = ReturnType<typeof createGraphQLServer>;
