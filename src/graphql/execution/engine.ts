import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
  subscribe,
} from 'graphql';
import { z } from 'zod';
import type { Viewer } from '../../auth/viewer.ts';
import type { Context } from '../../context.ts';
import {
  BadRequestError,
  InternalError,
  MAX_ERROR_ITEMS,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { logInternalError } from '../../log.ts';
import type { RateLimiter } from '../../rate-limit/rate-limiter.ts';
import { asGatewayError, maskResult, type Reply, type Result } from '../mask-errors.ts';
import { createDocuments, openOwnDocument } from './documents.ts';
import { createExecutor } from './executor.ts';
import { checkPermissions, type Operation } from './operation.ts';
import { type VariableValues, variableIssues } from './variables.ts';

/** A request's parameters, as GraphQL over HTTP defines them (section 5.1). */
export const Parameters = z.strictObject({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
export type Parameters = z.output<typeof Parameters>;

/** The operations that a request may run: mutations need `POST`, subscriptions a client that accepts event streams. */
export type Allowed = { readonly mutation: boolean; readonly subscription: boolean };

/** A subscription that has started: results, one for each event, and what makes a reply of one. */
export type Subscription = {
  readonly results: AsyncGenerator<ExecutionResult>;
  toReply(result: Result): Reply;
};

/** An operation of the gateway's own that is run again and again, through the same checks as any other. */
export type PreparedOperation = {
  /** @throws {GatewayError} if the viewer may not run it */
  authorize(viewer: Viewer): void;
  /** @throws {RateLimitedError} if no point is left for it */
  charge(context: Context): Promise<void>;
  /** Charges what a list costs beyond its first point, once it is served. */
  chargeRecords(context: Context, records: number): void;
  /** Returns the data. @throws {GatewayError} the first error, if there is one */
  run(variables: VariableValues, context: Context): Promise<Readonly<Record<string, unknown>>>;
};

/** Runs operations on one schema. */
export type Engine = {
  /** Runs the operation of a request. Every error is masked, logged if it is internal, and noted for the metrics. */
  run(parameters: Parameters, context: Context, allowed: Allowed): Promise<Reply | Subscription>;
  /** @throws {Error} if the document does not fit the schema */
  prepare(document: string): PreparedOperation;
};

/** The order of checks: document, method, permission, rate limit, variables; then each root field its arguments. */
export function createEngine(schema: GraphQLSchema, rateLimiter: RateLimiter): Engine {
  const read = createDocuments(schema);
  const execute = createExecutor(schema);

  return {
    async run({ query, operationName, variables }, context, allowed) {
      try {
        const found = read(query);
        if ('errors' in found) return report(found, context);
        const operation = found.document(operationName ?? undefined);
        requireAllowed(operation, allowed);
        const { permitted, refusals } = checkPermissions(operation, context.viewer);
        await rateLimiter.charge(context, permitted);
        const given = variables ?? {};
        const issues = [...variableIssues(operation.variables, given).take(MAX_ERROR_ITEMS)];
        if (issues.length > 0) {
          // A caller without permission gets that error first.
          return report({ errors: refusals.length > 0 ? refusals : [new ValidationError(issues)] }, context);
        }
        const result = await start(operation, given, context);
        if (!('next' in result)) return report(result, context);
        return { results: result, toReply: (event) => report(event, context) };
      } catch (error) {
        return report({ errors: [error] }, context);
      }
    },

    prepare(text) {
      const operation = openOwnDocument(schema, text)();
      return {
        authorize(viewer) {
          // No path of the REST API names another user.
          const [refusal] = checkPermissions(operation, viewer, {}).refusals;
          if (refusal !== undefined) throw refusal;
        },
        charge: (context) => rateLimiter.charge(context, operation.rootAccess),
        chargeRecords(context, records) {
          for (const { bucket } of operation.rootAccess) rateLimiter.chargeRecords(context, bucket, records);
        },
        async run(variables, context) {
          const { data, errors: [error] = [] } = await execute(operation, variables, context);
          if (error !== undefined) throw asGatewayError(error);
          return data ?? {};
        },
      };
    },
  };

  function start(operation: Operation, variableValues: VariableValues, context: Context) {
    const { document, node } = operation;
    if (node.operation !== OperationTypeNode.SUBSCRIPTION) return execute(operation, variableValues, context);
    const operationName = node.name?.value;
    return subscribe({ schema, document, operationName, variableValues, contextValue: context });
  }
}

/** @throws {GraphQLError} with the status that GraphQL over HTTP prescribes */
function requireAllowed({ node }: Operation, allowed: Allowed): void {
  if (node.operation === OperationTypeNode.MUTATION && !allowed.mutation) {
    throw refused('A mutation requires a POST request.', { status: 405, headers: { Allow: 'POST' } });
  }
  if (node.operation === OperationTypeNode.SUBSCRIPTION && !allowed.subscription) {
    throw refused('A subscription requires a request that accepts text/event-stream.', { status: 406 });
  }
}

function refused(message: string, http: { status: number; headers?: Record<string, string> }): GraphQLError {
  return new GraphQLError(message, { originalError: new BadRequestError(message), extensions: { http } });
}

/** Masks the errors of a result, logs those that are internal, and notes the first for the metrics. */
function report(result: Result, { log, failures }: Context): Reply {
  const reply = maskResult(result);
  for (const { known } of reply.errors ?? []) {
    if (known instanceof InternalError) logInternalError(log, known);
    if (failures.length === 0) failures.push({ code: known.code });
  }
  return reply;
}
