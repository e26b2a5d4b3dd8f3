import { type DocumentNode, type ExecutionResult, getOperationAST } from 'graphql';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { Results } from './sse.ts';
import type { createGraphQLServer } from './yoga.ts';

/** A request's parameters as GraphQL over HTTP has them. */
const Parameters = z.strictObject({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

/** The operations that a request may run: what changes something comes by `POST`, events only to who takes them. */
export type Allowed = { query: boolean; mutation: boolean; subscription: boolean };

/**
 * Runs a request's operation through Yoga's pipeline, and so through the same checks as any other, but without its
 * HTTP layer, which costs more than most operations. Answers nothing, and has done nothing, where the request is
 * none that may run: Yoga refuses it, in its words.
 */
export async function run(
  yoga: ReturnType<typeof createGraphQLServer>,
  parameters: unknown,
  context: Context,
  allowed: Allowed,
): Promise<ExecutionResult | Results | undefined> {
  const { data } = Parameters.safeParse(parameters);
  if (data === undefined) return undefined;
  const { query, operationName, variables } = data;
  const { schema, parse, validate, contextFactory, execute, subscribe } = yoga.getEnveloped(context);
  const document = readDocument(query, parse);
  if (document === undefined || validate(schema, document).length > 0) return undefined;
  const kind = getOperationAST(document, operationName)?.operation;
  if (kind === undefined || !allowed[kind]) return undefined;
  const start = kind === 'subscription' ? subscribe : execute;
  return start({
    schema,
    document,
    operationName,
    variableValues: variables,
    contextValue: await contextFactory(),
  });
}

function readDocument(query: string, parse: (query: string) => DocumentNode): DocumentNode | undefined {
  try {
    return parse(query);
  } catch {
    return undefined;
  }
}
