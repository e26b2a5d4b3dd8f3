import type { Response } from 'express';
import { type ExecutionArgs, type ExecutionResult, execute, type GraphQLSchema, subscribe } from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import { checkAccess } from '../../auth/access.ts';
import { anonymous } from '../../auth/viewer.ts';
import type { Context, GatewayPlugin, RootValue } from '../../context.ts';
import {
  BadRequestError,
  MAX_ERROR_ITEMS,
  RateLimitedError,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { FREE_COST } from '../../quota/running-documents.ts';
import { contextOf } from '../../server/caller.ts';
import { compile, isCompilable } from '../compile-operation.ts';
import { withStatus } from '../errors.ts';
import type { IntrospectionReplies } from '../introspection-replies.ts';
import { findOperation, type Operation } from '../operation.ts';
import { findVariableIssues } from '../variables.ts';
import { acceptsEvents } from './request.ts';

/** How long a costly document may run and its reply may be read, in milliseconds. The connection is then closed. */
const MAX_RUN_MS = 60_000;

/**
 * Checks the variables of an operation, lets costly documents of GraphQL clients wait until they may run, and executes
 * operations by graphql-js, or, if they are frequent, as compiled functions that provably return the same result. Yoga's
 * own executor takes 254 µs more for a page of notifications. Root fields check permissions themselves; here, a missing
 * one only takes precedence over invalid variables. Charges introspection, and keeps its replies.
 */
export function useExecution(replies: IntrospectionReplies): GatewayPlugin {
  const executeFrequentCompiled = createExecutor();
  return {
    onExecute({ args, setExecuteFn, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues, rootValue, contextValue } = args;
      const operation = findOperation(schema, document, operationName);
      // Resolvers get the context itself, because Yoga would copy it into an object of its own, which takes 27 µs.
      const context = contextOf(contextValue.res);
      setExecuteFn((args) =>
        executeFrequentCompiled(operation, {
          ...args,
          rootValue: rootValue ?? fromClient,
          contextValue: context,
        }),
      );
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
    onSubscribe({ args, setSubscribeFn, setResultAndStopExecution }) {
      const { schema, document, operationName, contextValue } = args;
      if (!acceptsEvents(contextValue.req)) throw withStatus(new BadRequestError(NO_EVENTS), 406);
      const operation = findOperation(schema, document, operationName);
      const context = contextOf(contextValue.res);
      setSubscribeFn((args) => subscribe({ ...args, rootValue: fromClient, contextValue: context }));
      const errors = findErrors(operation, args, context);
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
  context.runningDocument = await runningDocuments.admit(viewer.caller, cost, onLeave);
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

/**
 * The number of times that an operation is interpreted before it is compiled. Compiling takes longer than validating,
 * so unique documents must not trigger it.
 */
export const RUNS_BEFORE_COMPILATION = 10;

/** The maximum number of compiled operations in memory, which take up to several hundred kilobytes each. */
const MAX_COMPILED = 100;

/** The root value of operations of GraphQL clients. */
const fromClient: RootValue = {};

/** Creates a function that executes operations whose variables were checked. */
function createExecutor() {
  const seen = new WeakMap<Operation, number>();
  const compiled = new LRUCache<Operation, CompiledQuery>({ max: MAX_COMPILED });

  return async (operation: Operation, args: ExecutionArgs): Promise<ExecutionResult> => {
    const { schema, rootValue, contextValue, variableValues } = args;
    const run = compiled.get(operation) ?? compileIfFrequent(schema, operation);
    if (run === undefined) return execute(args);
    return run.query(rootValue, contextValue, variableValues ?? {});
  };

  /** Compiles a frequent operation. After the compiled function is evicted, the count starts again. */
  function compileIfFrequent(schema: GraphQLSchema, operation: Operation): CompiledQuery | undefined {
    const times = seen.get(operation) ?? 0;
    seen.set(operation, times + 1);
    if (times < RUNS_BEFORE_COMPILATION) return undefined;
    const query = isCompilable(schema, operation) ? compile(schema, operation) : undefined;
    seen.set(operation, query === undefined ? Number.NEGATIVE_INFINITY : 0);
    if (query !== undefined) compiled.set(operation, query);
    return query;
  }
}
