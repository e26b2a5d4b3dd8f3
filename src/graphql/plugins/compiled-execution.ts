import {
  BREAK,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  OperationTypeNode,
  print,
  subscribe,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { GatewayPlugin, RootValue } from '../../context.ts';
import { contextOf } from '../../server/caller.ts';
import type { Operation } from '../operation.ts';
import { mayContainSecret } from '../secret-inputs.ts';
import { findOperation } from './operations.ts';

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

/** Longer documents are always interpreted, because compiled code grows with the document. */
const MAX_COMPILED_CHARACTERS = 8192;

/** The root value of operations of GraphQL clients. */
const fromClient: RootValue = {};

/** Creates a function that executes operations. In either case, graphql-js checks the variables first. */
function createExecutor() {
  const seen = new WeakMap<Operation, number>();
  const compiled = new LRUCache<Operation, CompiledQuery>({ max: MAX_COMPILED });

  return async (args: ExecutionArgs): Promise<ExecutionResult> => {
    const { schema, document, rootValue, contextValue, variableValues, operationName } = args;
    const operation = findOperation(schema, document, operationName);
    const run = compiled.get(operation) ?? compileIfFrequent(schema, operation);
    if (run === undefined) return execute(args);
    const variables = variableValues ?? {};
    const { errors } = getVariableValues(schema, operation.node.variableDefinitions ?? [], variables);
    if (errors !== undefined) return { errors };
    return run.query(rootValue, contextValue, variables);
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

/** Compiles an operation. Returns `undefined` if the compiler cannot. */
export function compile(schema: GraphQLSchema, { document, node }: Operation): CompiledQuery | undefined {
  const query = compileQuery(schema, document, node.name?.value);
  return isCompiledQuery(query) ? query : undefined;
}

/**
 * Whether a compiled operation provably returns the same result as graphql-js. It must be the only operation of its
 * document, a query without directives or introspection. Each argument must be a constant, or consist of a single
 * variable whose type is the argument's type or the non-null form of it. Otherwise, the compiler may drop variables
 * inside literals of custom scalars or accept `null` for a non-null type. It also copies constants into the code, so no
 * argument may contain a credential.
 */
export function isCompilable(schema: GraphQLSchema, operation: Operation): boolean {
  const { document, node } = operation;
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (node.operation !== OperationTypeNode.QUERY || operations.length > 1) return false;
  if ((document.loc?.end ?? 0) > MAX_COMPILED_CHARACTERS) return false;
  return hasOnlyCompilableNodes(schema, operation);
}

/** Whether all fields, fragments and arguments of a document can be compiled. */
function hasOnlyCompilableNodes(schema: GraphQLSchema, { document, node }: Operation): boolean {
  const variables = node.variableDefinitions ?? [];
  const variableTypes = new Map(variables.map(({ variable, type }) => [variable.name.value, print(type)]));
  const typeInfo = new TypeInfo(schema);
  const spread = new Set<string>();
  let isSupported = true;
  const refuse = () => {
    isSupported = false;
    return BREAK;
  };
  visit(
    document,
    visitWithTypeInfo(typeInfo, {
      Directive: refuse,
      Field({ name, alias }) {
        const isMeta = name.value.startsWith('__') && name.value !== '__typename';
        return isMeta || alias?.value.startsWith('__') ? refuse() : undefined;
      },
      // Each spread is compiled separately, so repeated spreads could make the code exponentially large.
      FragmentSpread({ name }) {
        if (spread.has(name.value)) return refuse();
        spread.add(name.value);
        return undefined;
      },
      Argument() {
        const argument = typeInfo.getArgument();
        return !argument || mayContainSecret(argument.type) ? refuse() : undefined;
      },
      Variable({ name }, _key, parent) {
        const argument = typeInfo.getArgument();
        if (!argument) return undefined;
        const isWhole = parent !== undefined && 'kind' in parent && parent.kind === Kind.ARGUMENT;
        const type = variableTypes.get(name.value);
        const isSame = type === String(argument.type) || type === `${argument.type}!`;
        return isWhole && isSame ? undefined : refuse();
      },
    }),
  );
  return isSupported;
}
