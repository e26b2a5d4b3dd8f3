import { isAsyncIterable } from '@graphql-tools/utils';
import type { ExecutionResult, GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import type { Context } from '../context.ts';
import { type GatewayError, InternalError } from '../errors.ts';
import { logInternalError } from '../log.ts';
import { asGatewayError, httpOf, toGraphQLError } from './gateway-error.ts';
import { GRAPHQL_PATH } from './handler.ts';
import { quotaHeaders, type RateLimiter } from './rate-limit.ts';
import type { Results } from './sse.ts';

/** Answers by GraphQL over HTTP, with our errors instead of Yoga's, whatever did not simply go well. */
export function createGraphQLServer(schema: GraphQLSchema, rateLimiter: RateLimiter) {
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
    maskedErrors: { maskError: toGraphQLError },
    plugins: [useResult(), useWholeFailure(), useQuota(rateLimiter)],
  });
}

/** What Yoga gets of a request: its context, and the result where its operation has run already. */
type ServerContext = Context & { result?: ExecutionResult | Results };

type YogaPlugin = Plugin<ServerContext & YogaInitialContext, ServerContext>;

/** Answers a result that is there already. */
function useResult(): YogaPlugin {
  return {
    onParams({ context, setResult }) {
      if (context.result !== undefined) setResult(context.result);
    },
  };
}

/** Logs internal errors, and lets one that took every root field decide the status of the whole reply. */
function useWholeFailure(): YogaPlugin {
  return {
    onExecutionResult({ result, setResult, context }) {
      if (result === undefined || isAsyncIterable(result) || !result.errors) return;
      const errors = result.errors.map(asGatewayError);
      for (const error of errors) if (error instanceof InternalError) logInternalError(context.log, error);
      const [first] = errors;
      if (first !== undefined && context.failures.length === 0) context.failures.push({ code: first.code });
      if (first !== undefined && (tookEveryField(result.data, errors) || cannotStart(result))) {
        setResult({ errors: result.errors, extensions: { http: httpOf(first) } });
      }
    },
  };
}

/** Whether every root field failed for the rate limit, or every one internally. */
function tookEveryField(data: ExecutionResult['data'], errors: readonly GatewayError[]): boolean {
  const fields = Object.values(data ?? {});
  return (
    fields.length === errors.length &&
    fields.every((value) => value === null) &&
    (errors.every(({ code }) => code === 'RATE_LIMITED') ||
      errors.every(({ code }) => code === 'INTERNAL_ERROR'))
  );
}

/** Whether a subscription failed to start: an error of its field, and no data at all. */
function cannotStart({ data, errors }: ExecutionResult): boolean {
  return data === undefined && errors?.[0]?.path !== undefined;
}

/** Charges what was refused before an operation ran, and tells the caller what is left. */
function useQuota(rateLimiter: RateLimiter): YogaPlugin {
  return {
    async onResponse({ response, serverContext }) {
      await rateLimiter.chargeRefused(serverContext);
      for (const [name, value] of quotaHeaders(serverContext.charges)) response.headers.set(name, value);
    },
  };
}
