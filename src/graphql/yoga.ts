import { isAsyncIterable } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import type { Context } from '../context.ts';
import { InternalError, ValidationError } from '../errors.ts';
import { logInternalError } from '../log.ts';
import { parseDocument, validateRequest } from './document.ts';
import { asGatewayError, httpOf, toGraphQLError } from './gateway-error.ts';
import { refusals } from './operation.ts';
import { quotaHeaders, type RateLimiter } from './rate-limit.ts';
import { faultsOfVariables } from './variables.ts';

/** The address of the GraphQL face. */
export const GRAPHQL_PATH = '/graphql';

/** GraphQL over HTTP, with our errors and limits instead of Yoga's. */
export function createGraphQLServer(schema: GraphQLSchema, rateLimiter: RateLimiter) {
  return createYoga<Context>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    disposeOnProcessTerminate: false,
    maskedErrors: { maskError: toGraphQLError },
    plugins: [useOurEngine(), useVariableCheck(schema), useWholeFailure(), useQuota(rateLimiter)],
  });
}

type YogaPlugin = Plugin<Context & YogaInitialContext, Context>;

/** Parses and validates with messages that never print a value. */
function useOurEngine(): YogaPlugin {
  return {
    onParse: ({ setParseFn }) => setParseFn(parseDocument),
    onValidate: ({ setValidationFn }) => setValidationFn(validateRequest),
  };
}

/** Refuses variables that do not fit before anything runs; a caller without access is told that first. */
function useVariableCheck(schema: GraphQLSchema): YogaPlugin {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const faults = faultsOfVariables(schema, args.document, args.operationName, args.variableValues ?? {});
      if (faults.length === 0) return;
      const refused = refusals(schema, args.document, args.operationName, args.contextValue.viewer);
      const errors = refused.length > 0 ? refused : [new ValidationError(faults)];
      setResultAndStopExecution({ errors: errors.map(toGraphQLError) });
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
      const fields = Object.values(result.data ?? {});
      const isWhole = fields.every((value) => value === null) && fields.length === errors.length;
      const isSame = errors.every(({ code }) => code === first?.code);
      if (!isWhole || !isSame || first === undefined) return;
      if (first.code !== 'RATE_LIMITED' && first.code !== 'INTERNAL_ERROR') return;
      setResult({ errors: result.errors, extensions: { http: httpOf(first) } });
    },
  };
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
