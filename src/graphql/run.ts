import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  subscribe,
} from 'graphql';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { BadRequestError, ValidationError } from '../errors.ts';
import type { Execute } from './compiled.ts';
import { parseDocument, validateRequest } from './document.ts';
import { rememberDocuments } from './document-cache.ts';
import { toGraphQLError } from './gateway-error.ts';
import { refusals } from './operation.ts';
import type { Results } from './sse.ts';
import { faultsOfVariables } from './variables.ts';

/** A request's parameters as GraphQL over HTTP has them. */
const Parameters = z.strictObject({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

const NO_OPERATION =
  'The document has several operations and none is named, or none of the name in operationName.';

/** How a request may be answered: changes come by `POST`, and events go only to who takes them. */
export type Allowed = { mutation: boolean; events: boolean };

/** Answers nothing, and has done nothing, where Yoga has to say why: for parameters of another shape, and changes by `GET`. */
export type Run = (
  parameters: unknown,
  context: Context,
  allowed: Allowed,
) => Promise<ExecutionResult | Results | undefined>;

/** Runs the operations of requests on a schema. Valid documents are remembered. */
export function createRun(schema: GraphQLSchema, execute: Execute): Run {
  const documents = rememberDocuments();

  return async (parameters, context, allowed) => {
    const { data } = Parameters.safeParse(parameters);
    if (data === undefined) return undefined;
    const { document, faults } = read(data.query);
    if (document === undefined) return { errors: faults.map(toGraphQLError) };
    const operationName = data.operationName ?? undefined;
    const variableValues = data.variables ?? {};
    const kind = getOperationAST(document, operationName)?.operation;
    if (kind === undefined) return { errors: [toGraphQLError(new BadRequestError(NO_OPERATION))] };
    if (kind === 'mutation' && !allowed.mutation) return undefined;
    const errors = misfits(document, operationName, variableValues, context);
    if (errors.length > 0) return { errors };
    const args = { schema, document, operationName, variableValues, contextValue: context };
    if (kind !== 'subscription') return masked(await execute(args));
    const results = await subscribe(args);
    if (!('next' in results)) return masked(results);
    if (allowed.events) return results;
    await results.return(undefined);
    return nobody();
  };

  function read(query: string): { document?: DocumentNode; faults: readonly unknown[] } {
    const known = documents.get(query);
    if (known !== undefined) return { document: known, faults: [] };
    try {
      const document = parseDocument(query);
      const faults = validateRequest(schema, document);
      if (faults.length > 0) return { faults };
      documents.set(query, document);
      return { document, faults };
    } catch (error) {
      return { faults: [error] };
    }
  }

  /** Variables that do not fit, before anything runs; a caller without access is told that first. */
  function misfits(
    document: DocumentNode,
    operationName: string | undefined,
    variables: Readonly<Record<string, unknown>>,
    { viewer }: Context,
  ): GraphQLError[] {
    const faults = faultsOfVariables(schema, document, operationName, variables);
    if (faults.length === 0) return [];
    const refused = refusals(schema, document, operationName, viewer);
    return (refused.length > 0 ? refused : [new ValidationError(faults)]).map(toGraphQLError);
  }
}

function masked({ errors, data }: ExecutionResult): ExecutionResult {
  const result = data === undefined ? {} : { data };
  return errors === undefined ? result : { errors: errors.map(toGraphQLError), ...result };
}

/** A stream that nobody takes. */
async function* nobody(): AsyncGenerator<ExecutionResult> {}
