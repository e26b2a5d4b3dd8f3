import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getLocation,
  Kind,
  type ParseOptions,
  parse,
  type Source,
  specifiedRules,
  type ValidationContext,
  ValuesOfCorrectTypeRule,
  validate,
} from 'graphql';

/**
 * Parses a document. Messages tell where, never what: a credential may stand in the wrong place.
 * @throws {GraphQLError} where the text is no GraphQL
 */
export function parseDocument(source: string | Source, options?: ParseOptions): DocumentNode {
  try {
    return parse(source, options);
  } catch (error) {
    if (error instanceof RangeError) throw new GraphQLError('The document is nested too deeply.');
    if (!(error instanceof GraphQLError) || !error.source) throw error;
    const { line, column } = getLocation(error.source, error.positions?.[0] ?? 0);
    throw new GraphQLError(`Syntax error at line ${line}, column ${column}.`, {
      source: error.source,
      positions: error.positions ?? null,
    });
  }
}

/** Validates a document by the specification's rules, with our words where graphql-js would print a value. */
export function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  return validate(schema, document, rules).map(
    ({ message, nodes }) =>
      new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: 'BAD_REQUEST' } }),
  );
}

const rules = specifiedRules.map((rule) => (rule === ValuesOfCorrectTypeRule ? valuesOfCorrectType : rule));

function valuesOfCorrectType(context: ValidationContext): ASTVisitor {
  const silent = Object.create(context, {
    reportError: {
      value: (error: GraphQLError) => {
        const [node] = error.nodes ?? [];
        const isStructure = node?.kind === Kind.OBJECT || node?.kind === Kind.OBJECT_FIELD;
        const message = isStructure ? error.message : `Expected a value of type "${context.getInputType()}".`;
        context.reportError(new GraphQLError(message, { nodes: error.nodes ?? null }));
      },
    },
  });
  return ValuesOfCorrectTypeRule(silent);
}
