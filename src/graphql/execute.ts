import type { GraphQLSchema } from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import type { Execute } from './compiled.ts';
import { parseDocument, validateDocument } from './document.ts';
import { asGatewayError } from './gateway-error.ts';
import { refusals } from './operation.ts';

/** One operation that is run in-process again and again, through the same checks as any other. */
export type Operation = {
  /** @throws {GatewayError} where the caller may not run it */
  authorize(viewer: Viewer): void;
  /** Answers the data. @throws {GatewayError} the first error, where there is one */
  run(
    variables: Readonly<Record<string, unknown>>,
    context: Context,
  ): Promise<Readonly<Record<string, unknown>>>;
};

/**
 * Prepares an operation of the schema.
 * @throws {Error} where the document does not fit the schema
 */
export type Prepare = (document: string) => Operation;

/** In-process execution on a schema. */
export function createPrepare(schema: GraphQLSchema, execute: Execute): Prepare {
  return (text) => {
    const document = parseDocument(text);
    const [fault] = validateDocument(schema, document);
    if (fault !== undefined) throw new Error(`${fault.message} In: ${text}`);
    return {
      authorize(viewer) {
        const [refusal] = refusals(schema, document, undefined, viewer, {});
        if (refusal !== undefined) throw refusal;
      },
      async run(variables, context) {
        const { data, errors } = await execute({
          schema,
          document,
          contextValue: context,
          variableValues: variables,
        });
        const [error] = errors ?? [];
        if (error !== undefined) throw asGatewayError(error);
        return data ?? {};
      },
    };
  };
}
