import type { Response } from 'express';
import type { ExecutionArgs, ExecutionResult } from 'graphql';
import { checkAccess } from '../../auth/access.ts';
import { anonymous, identifyCaller } from '../../auth/viewer.ts';
import type { Context, GatewayPlugin } from '../../context.ts';
import {
  BadRequestError,
  MAX_ERROR_ITEMS,
  RateLimitedError,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { FREE_COST } from '../../quota/running-documents.ts';
import { contextOf } from '../../server/caller.ts';
import { withStatus } from '../errors.ts';
import type { IntrospectionReplies } from '../introspection-replies.ts';
import { findOperation, type Operation } from '../operation.ts';
import { findVariableIssues } from '../variables.ts';
import { acceptsEvents } from './request.ts';

/** How long a costly document may run and its reply may be read, in milliseconds. The connection is then closed. */
const MAX_RUN_MS = 60_000;

/**
 * Checks the variables of an operation before it runs, and lets costly documents of GraphQL clients wait until they may
 * run. Root fields check permissions themselves; here, a missing one only takes precedence over invalid variables. Charges
 * introspection, and keeps its replies.
 */
export function useOperations(replies: IntrospectionReplies): GatewayPlugin {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, rootValue, contextValue } = args;
      const operation = findOperation(schema, document, operationName);
      const context = contextOf(contextValue.res);
      const errors = findErrors(operation, args, context);
      if (errors.length > 0) return setResultAndStopExecution({ errors });
      const isIntrospection = operation.rootAccess.length === 0;
      if (isIntrospection) context.quota.raiseMinimum(context, operation.cost);
      const isKept = isIntrospection && operation.variables.length === 0;
      const hooks = isKept ? keepReply(replies, contextValue.params.query ?? '', operationName) : undefined;
      // The REST API runs documents of its own, whose lists it reads page by page.
      if (rootValue !== undefined || context.viewer === anonymous) return hooks;
      const cost = operation.measureCost(variableValues ?? {});
      if (cost <= FREE_COST) return hooks;
      return admit(context, cost, contextValue.res).then((isAdmitted) => {
        if (!isAdmitted) setResultAndStopExecution({ errors: [new RateLimitedError(1)] });
        return hooks;
      });
    },
    onSubscribe({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, contextValue } = args;
      if (!acceptsEvents(contextValue.req)) throw withStatus(new BadRequestError(NO_EVENTS), 406);
      const operation = findOperation(schema, document, operationName);
      const errors = findErrors(operation, args, contextOf(contextValue.res));
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
  };
}

/** Returns the hook that keeps the reply of an operation without errors. */
const keepReply = (replies: IntrospectionReplies, query: string, operationName: string | undefined) => ({
  onExecuteDone({ result }: { result: ExecutionResult | AsyncIterable<unknown> }) {
    if ('data' in result && !result.errors) replies.keep(query, operationName, { data: result.data });
  },
});

/** Waits until a costly document may run. Returns whether it may. */
async function admit(context: Context, cost: number, response: Response): Promise<boolean> {
  const { viewer, runningDocuments, onLeave } = context;
  context.runningDocument = await runningDocuments.admit(identifyCaller(viewer), cost, onLeave);
  if (context.runningDocument === undefined) return false;
  const timeout = setTimeout(() => response.destroy(), MAX_RUN_MS);
  onLeave(() => clearTimeout(timeout));
  return true;
}

/** Invalid variables fail the whole request. If permissions are missing too, only those are reported. */
function findErrors(
  { variables, rootAccess }: Operation,
  { variableValues }: Pick<ExecutionArgs, 'variableValues'>,
  { viewer }: Context,
) {
  const issues = findVariableIssues(variables, variableValues ?? {}, MAX_ERROR_ITEMS);
  if (issues.length === 0) return [];
  const refusals = rootAccess.flatMap((access) => checkAccess(access, viewer) ?? []);
  return refusals.length > 0 ? refusals : [new ValidationError(issues)];
}

const NO_EVENTS = 'A subscription requires a request that accepts text/event-stream.';
