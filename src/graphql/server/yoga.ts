import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import { type GraphQLReply, maskError } from '../mask-errors.ts';
import { GRAPHQL_PATH } from './graphql-path.ts';

/** The outcome of a request. */
export type ExecutionOutcome =
  | { readonly kind: 'refused'; readonly error: unknown }
  /** Yoga replies 405. */
  | { readonly kind: 'unsupportedMethod' }
  /** Yoga replies 406. */
  | { readonly kind: 'notAcceptable' }
  | { readonly kind: 'executed'; readonly query: string; readonly reply: GraphQLReply };

type ServerContext = { readonly outcome: ExecutionOutcome };
type YogaPlugin = Plugin<ServerContext & YogaInitialContext, ServerContext>;

/**
 * Creates the Yoga server that sends the outcome of a request, with its status and headers. If endpoint.ts has found
 * that the method or the media type is not supported, Yoga checks it again, and replies 405 or 406.
 */
export function createResponder(schema: GraphQLSchema) {
  const fromOutcome: YogaPlugin = {
    onRequestParse({ serverContext: { outcome }, setRequestParser }) {
      if (outcome.kind === 'refused') throw outcome.error;
      const query = outcome.kind === 'executed' ? outcome.query : '';
      setRequestParser(() => ({ query }));
    },
    onParams({ context: { outcome }, setResult }) {
      if (outcome.kind === 'executed') setResult(withSerializer(outcome.reply));
      // Any result will do: Yoga replies 406, because the client accepts none of its media types.
      else if (outcome.kind === 'notAcceptable') setResult({});
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

/** The body that is added to Yoga's 406 reply, which Yoga sends without one. */
const NOT_ACCEPTABLE = JSON.stringify({
  errors: [
    {
      message:
        'The request must accept application/graphql-response+json, application/json or text/event-stream.',
      extensions: { code: 'BAD_REQUEST' },
    },
  ],
});

/** Serializes the original errors: Yoga would serialize copies, which have no `locations`. */
function withSerializer(reply: GraphQLReply) {
  return { ...reply, stringify: () => JSON.stringify({ errors: reply.errors, data: reply.data }) };
}
