import {
  BREAK,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type Source,
  visit,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { takesSecret } from './operation.ts';

/** Executes an operation on one schema, as graphql-js's `execute` does. */
export type Execute = (args: ExecutionArgs) => Promise<ExecutionResult>;

/**
 * How often an operation is interpreted before it is compiled. Compiling takes as long as validating, and for the
 * costliest documents ten times as long: whoever sends ever new ones must not have each compiled.
 */
export const INTERPRETED_FIRST = 10;

/** How often an operation came so far, the function made of it, or that none can be made. */
type State = number | CompiledQuery | 'interpreted';

/**
 * Execution by graphql-js of what is new, and by a function compiled of the document once it came often. Variables
 * are coerced by graphql-js in any case; the compiler's own coercion does not know `@oneOf`.
 */
export function createExecute(schema: GraphQLSchema): Execute {
  const states = new WeakMap<DocumentNode, Map<string | undefined, State>>();

  return async (args) => {
    const { document, contextValue, variableValues } = args;
    const operationName = args.operationName ?? undefined;
    const compiled = compiledOf(document, operationName);
    if (compiled === undefined) return execute(args);
    const { variableDefinitions = [] } = getOperationAST(document, operationName) ?? {};
    const { errors } = getVariableValues(schema, variableDefinitions, variableValues ?? {});
    if (errors !== undefined) return { errors };
    return withPositions(await compiled.query(undefined, contextValue, variableValues), document.loc?.source);
  };

  function compiledOf(document: DocumentNode, operationName: string | undefined): CompiledQuery | undefined {
    const operations = states.get(document) ?? new Map<string | undefined, State>();
    states.set(document, operations);
    const state = next(operations.get(operationName) ?? 0, document, operationName);
    operations.set(operationName, state);
    return typeof state === 'object' ? state : undefined;
  }

  function next(state: State, document: DocumentNode, operationName: string | undefined): State {
    if (typeof state !== 'number') return state;
    if (state < INTERPRETED_FIRST) return state + 1;
    // The compiler writes arguments into its code, as JSON: no credential shall lie there, and none survives it.
    if (takesSecret(schema, document, operationName) || hasConditions(document)) return 'interpreted';
    const compiled = compileQuery(schema, document, operationName);
    return isCompiledQuery(compiled) ? compiled : 'interpreted';
  }
}

/** Fields under `@skip` and `@include` would stand in another order than the one in which they are met. */
function hasConditions(document: DocumentNode): boolean {
  let found = false;
  visit(document, {
    Directive() {
      found = true;
      return BREAK;
    },
  });
  return found;
}

/** The compiler's errors know line and column alone; ours are made again by source and position. */
function withPositions({ data, errors }: ExecutionResult, source: Source | undefined): ExecutionResult {
  if (errors === undefined) return { data: data ?? null };
  const placed = errors.map(
    ({ message, locations, path, originalError }) =>
      new GraphQLError(message, {
        source: source ?? null,
        positions: source && locations ? locations.map((location) => positionOf(source, location)) : null,
        path: path ?? null,
        originalError: originalError ?? null,
      }),
  );
  return { errors: placed, data: data ?? null };
}

function positionOf({ body }: Source, { line, column }: { line: number; column: number }): number {
  const lines = body.matchAll(/\r\n|[\n\r]/g);
  const end = [...lines.take(line - 1)].at(-1);
  return (end === undefined ? 0 : end.index + end[0].length) + column - 1;
}
