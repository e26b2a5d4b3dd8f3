import {
  BREAK,
  type ExecutionResult,
  execute,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  OperationTypeNode,
  print,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { Context } from '../../context.ts';
import { mayContainSecret } from '../secret-inputs.ts';
import type { Operation } from './operation.ts';
import type { VariableValues } from './variables.ts';

/**
 * How often an operation is interpreted before it is compiled. Compiling takes longer than validating, so unique
 * documents must not trigger it.
 */
export const INTERPRETED_FIRST = 10;

/** Compiled operations in memory; code takes more room than documents, up to some hundred kilobytes each. */
const MAX_COMPILED = 100;

/** Longer documents are interpreted: compiled code grows with the document. */
const MAX_COMPILED_CHARACTERS = 8192;

/**
 * Execution by graphql-js, and by a function compiled of the operation once it is seen often and if both are provably
 * equal. Variables are coerced by graphql-js first in any case.
 */
export function createExecutor(schema: GraphQLSchema) {
  const seen = new WeakMap<Operation, number>();
  const compiled = new LRUCache<Operation, CompiledQuery>({ max: MAX_COMPILED });

  return async (
    operation: Operation,
    variables: VariableValues,
    context: Context,
  ): Promise<ExecutionResult> => {
    const run = compiled.get(operation) ?? compileOften(operation);
    if (run === undefined) return interpret(schema, operation, variables, context);
    const { errors } = getVariableValues(schema, operation.node.variableDefinitions ?? [], variables);
    if (errors !== undefined) return { errors };
    return run.query(undefined, context, variables);
  };

  /** Compiles an operation that has been seen often; after its eviction, once it has been seen as often again. */
  function compileOften(operation: Operation): CompiledQuery | undefined {
    const times = seen.get(operation) ?? 0;
    seen.set(operation, times + 1);
    if (times < INTERPRETED_FIRST) return undefined;
    const query = isCompilable(schema, operation) ? compile(schema, operation) : undefined;
    seen.set(operation, query === undefined ? Number.NEGATIVE_INFINITY : 0);
    if (query !== undefined) compiled.set(operation, query);
    return query;
  }
}

/** Executes by graphql-js. */
export async function interpret(
  schema: GraphQLSchema,
  { document, node }: Operation,
  variableValues: VariableValues,
  contextValue: Context,
): Promise<ExecutionResult> {
  return execute({ schema, document, operationName: node.name?.value, variableValues, contextValue });
}

/** Compiles an operation; undefined if the compiler cannot. */
export function compile(schema: GraphQLSchema, { document, node }: Operation): CompiledQuery | undefined {
  const query = compileQuery(schema, document, node.name?.value);
  return isCompiledQuery(query) ? query : undefined;
}

/**
 * Whether the compiler is known to do what graphql-js does: a query alone in its document, without directives and
 * introspection, whose arguments are constants or whole variables of the argument's own type, or of its non-null type.
 * The compiler loses variables inside literals of custom scalars, lets nulls into non-null places, and writes constants
 * into its code.
 */
export function isCompilable(schema: GraphQLSchema, { document, node }: Operation): boolean {
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (node.operation !== OperationTypeNode.QUERY || operations.length > 1) return false;
  if ((document.loc?.end ?? 0) > MAX_COMPILED_CHARACTERS) return false;
  const variableTypes = new Map(
    node.variableDefinitions?.map(({ variable, type }) => [variable.name.value, print(type)]),
  );
  const typeInfo = new TypeInfo(schema);
  const spread = new Set<string>();
  let isEqual = true;
  const refuse = () => {
    isEqual = false;
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
      // Each spread is compiled: code that grows faster than its document could not be bounded.
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
  return isEqual;
}
