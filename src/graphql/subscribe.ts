import { isAsyncIterable } from '@graphql-tools/utils';
import { type DocumentNode, type ExecutionResult, getOperationAST } from 'graphql';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { Results } from './sse.ts';
import type { createGraphQLServer } from './yoga.ts';

/** A request's parameters, where they may be a subscription. Other shapes are refused by Yoga, in its words. */
const Parameters = z.strictObject({
  query: z.string().regex(/\bsubscription\b/),
  operationName: z.string().nullish(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
});

/** A subscription that runs, or that could not start. */
export type Started = { results: Results } | { refusal: ExecutionResult };

/**
 * Starts a subscription through the same checks as any operation. Answers nothing for any other operation, and
 * for one that is not even valid.
 */
export async function startSubscription(
  yoga: ReturnType<typeof createGraphQLServer>,
  parameters: unknown,
  context: Context,
): Promise<Started | undefined> {
  const { data } = Parameters.safeParse(parameters);
  if (data === undefined) return undefined;
  const { query, operationName, variables } = data;
  const { schema, parse, validate, contextFactory, subscribe } = yoga.getEnveloped(context);
  const document = readDocument(query, parse);
  if (document === undefined) return undefined;
  if (getOperationAST(document, operationName)?.operation !== 'subscription') return undefined;
  if (validate(schema, document).length > 0) return undefined;
  const result: Results | ExecutionResult = await subscribe({
    schema,
    document,
    operationName,
    variableValues: variables,
    contextValue: await contextFactory(),
  });
  return isAsyncIterable(result) ? { results: result } : { refusal: result };
}

function readDocument(query: string, parse: (query: string) => DocumentNode): DocumentNode | undefined {
  try {
    return parse(query);
  } catch {
    return undefined;
  }
}
