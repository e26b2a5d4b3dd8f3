import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
  subscribe,
} from 'graphql';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { BadRequestError, MAX_ERROR_ITEMS, ValidationError } from '../../errors/gateway-errors.ts';
import { logHiddenCause } from '../../log.ts';
import { type GraphQLReply, maskResult, type OperationResult } from '../mask-errors.ts';
import { createDocumentCache, openTrustedOperation } from './documents.ts';
import { createExecutor } from './executor.ts';
import { checkPermissions, type Operation } from './operation.ts';
import { type PreparedOperation, prepareOperation } from './prepared-operation.ts';
import { findVariableIssues } from './variable-issues.ts';
import type { VariableValues } from './variables.ts';

/** The parameters of a request (GraphQL over HTTP, section 5.1). */
export const Parameters = z.strictObject({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});
export type Parameters = z.output<typeof Parameters>;

/**
 * The operations that a request may run: mutations only with `POST`, subscriptions only if it accepts event streams.
 */
export type AllowedOperations = { readonly mutation: boolean; readonly subscription: boolean };

/** A running subscription: one result per event, and the conversion of a result to a reply. */
export type RunningSubscription = {
  readonly results: AsyncGenerator<ExecutionResult>;
  toReply(result: OperationResult): GraphQLReply;
};

/** Runs operations on a schema. */
export type Engine = {
  /**
   * Runs the operation of a request. Errors are masked and recorded for the metrics; the details that the caller does
   * not see are logged.
   */
  run(
    parameters: Parameters,
    context: Context,
    allowed: AllowedOperations,
  ): Promise<GraphQLReply | RunningSubscription>;
  /** Prepares the only operation of a document. @throws {Error} if the document is invalid */
  prepare(document: string): PreparedOperation;
};

/**
 * Creates an engine. It checks, in this order: the document, the method, permissions (a missing one fails only its
 * field), the rate limit, and the variables. The plugins of `builder.ts` check the arguments of each field.
 */
export function createEngine(schema: GraphQLSchema): Engine {
  const openDocument = createDocumentCache(schema);
  const execute = createExecutor(schema);

  return {
    async run({ query, operationName, variables }, context, allowed) {
      try {
        const opened = openDocument(query);
        if ('errors' in opened) return maskAndRecord(opened, context);
        const operation = opened.findOperation(operationName ?? undefined);
        requireAllowed(operation, allowed);
        const { permitted, refusals } = checkPermissions(operation, context.viewer);
        await context.rateLimiter.prepay(context, permitted);
        const given = variables ?? {};
        const issues = findVariableIssues(operation.variables, given, MAX_ERROR_ITEMS);
        if (issues.length > 0) {
          // Invalid variables fail the whole request. If permissions are missing too, only the missing permissions are
          // reported.
          return maskAndRecord(
            { errors: refusals.length > 0 ? refusals : [new ValidationError(issues)] },
            context,
          );
        }
        const result = await start(operation, given, context);
        if (!('next' in result)) return maskAndRecord(result, context);
        return { results: result, toReply: (event) => maskAndRecord(event, context) };
      } catch (error) {
        return maskAndRecord({ errors: [error] }, context);
      }
    },

    prepare: (text) => prepareOperation(openTrustedOperation(schema, text), execute),
  };

  function start(operation: Operation, variableValues: VariableValues, context: Context) {
    const { document, node } = operation;
    if (node.operation !== OperationTypeNode.SUBSCRIPTION) return execute(operation, variableValues, context);
    const operationName = node.name?.value;
    return subscribe({ schema, document, operationName, variableValues, contextValue: context });
  }
}

/** @throws {GraphQLError} with the status that GraphQL over HTTP prescribes */
function requireAllowed({ node }: Operation, allowed: AllowedOperations): void {
  if (node.operation === OperationTypeNode.MUTATION && !allowed.mutation) {
    throw createRequestError('A mutation requires a POST request.', {
      status: 405,
      headers: { Allow: 'POST' },
    });
  }
  if (node.operation === OperationTypeNode.SUBSCRIPTION && !allowed.subscription) {
    throw createRequestError('A subscription requires a request that accepts text/event-stream.', {
      status: 406,
    });
  }
}

function createRequestError(
  message: string,
  http: { status: number; headers?: Record<string, string> },
): GraphQLError {
  return new GraphQLError(message, { originalError: new BadRequestError(message), extensions: { http } });
}

/**
 * Masks the errors of a result, logs the details that the caller does not see, and records the first for the metrics.
 */
function maskAndRecord(result: OperationResult, { log, failures }: Context): GraphQLReply {
  const reply = maskResult(result);
  for (const { shown } of reply.errors ?? []) {
    logHiddenCause(log, shown);
    if (failures.length === 0) failures.push({ code: shown.code });
  }
  return reply;
}
