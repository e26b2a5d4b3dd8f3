import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import { maskError, type Reply } from '../mask-errors.ts';
import { GRAPHQL_PATH } from './graphql-path.ts';

/** The outcome of a request: the error that refused it, or its document and reply. Neither for unsupported methods. */
export type Outcome = { readonly refusal?: unknown; readonly query?: string; readonly reply?: Reply };

type ServerContext = { readonly outcome: Outcome };
type YogaPlugin = Plugin<ServerContext & YogaInitialContext, ServerContext>;

/** GraphQL over HTTP by Yoga: methods, media types, status and headers of requests that have been run already. */
export function createResponder(schema: GraphQLSchema) {
  const fromOutcome: YogaPlugin = {
    onRequestParse({ serverContext: { outcome }, setRequestParser }) {
      if (outcome.refusal !== undefined) throw outcome.refusal;
      setRequestParser(() => ({ query: outcome.query ?? '' }));
    },
    onParams({ context: { outcome }, setResult }) {
      if (outcome.reply !== undefined) setResult(withText(outcome.reply));
    },
    onResponse({ response, setResponse, fetchAPI }) {
      if (response.status !== 406 || response.body !== null) return;
      const { status, headers } = response;
      headers.set('Content-Type', 'application/json; charset=utf-8');
      setResponse(new fetchAPI.Response(NOT_ACCEPTABLE, { status, headers }));
    },
  };
  return createYoga<ServerContext>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    disposeOnProcessTerminate: false,
    parserAndValidationCache: false,
    maxRequestBodySize: false,
    maskedErrors: { maskError },
    plugins: [fromOutcome],
  });
}

/** Yoga's own reply has no body. */
const NOT_ACCEPTABLE = JSON.stringify({
  errors: [
    {
      message:
        'The request must accept application/graphql-response+json, application/json or text/event-stream.',
      extensions: { code: 'BAD_REQUEST' },
    },
  ],
});

/** Yoga would create every error again, and search the document for its location. */
function withText(reply: Reply) {
  return { ...reply, stringify: () => JSON.stringify({ errors: reply.errors, data: reply.data }) };
}
