import { type ExecutionArgs, type ExecutionResult, execute, type GraphQLSchema, subscribe } from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { GatewayPlugin, RootValue } from '../../context.ts';
import { contextOf } from '../../server/caller.ts';
import { compile, isCompilable } from '../compile-operation.ts';
import { findOperation, type Operation } from '../operation.ts';

/**
 * Executes operations by graphql-js, or, if they are frequent, as compiled functions that provably return the same
 * result. Yoga's own executor takes 254 µs more for a page of notifications.
 */
export function useCompiledExecution(): GatewayPlugin {
  const executeFrequentCompiled = createExecutor();
  return {
    // Resolvers get the context itself, because Yoga would copy it into an object of its own, which takes 27 µs.
    onExecute({ args: { contextValue }, setExecuteFn }) {
      const context = contextOf(contextValue.res);
      setExecuteFn((args) =>
        executeFrequentCompiled({ ...args, rootValue: args.rootValue ?? fromClient, contextValue: context }),
      );
    },
    onSubscribe({ args: { contextValue }, setSubscribeFn }) {
      const context = contextOf(contextValue.res);
      setSubscribeFn((args) => subscribe({ ...args, rootValue: fromClient, contextValue: context }));
    },
  };
}

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

  return async (args: ExecutionArgs): Promise<ExecutionResult> => {
    const { schema, document, rootValue, contextValue, variableValues, operationName } = args;
    const operation = findOperation(schema, document, operationName);
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
