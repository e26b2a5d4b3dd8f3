import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getLocation,
  Kind,
  Lexer,
  parse,
  type Source,
  specifiedRules,
  TokenKind,
  type ValidationContext,
  ValuesOfCorrectTypeRule,
  validate,
} from 'graphql';
import { documentLimits, limitDocument, overLimit } from './document-limits.ts';

/**
 * Parses a document of at most so many tokens. Messages tell where, never what: a credential may stand in the
 * wrong place.
 * @throws {GraphQLError} where the text is no GraphQL, or too much of it
 */
export function parseDocument(text: string | Source): DocumentNode {
  try {
    return parse(text, { maxTokens: documentLimits.tokens });
  } catch (error) {
    if (error instanceof RangeError) throw new GraphQLError('The document is nested too deeply.');
    if (!(error instanceof GraphQLError) || !error.source) throw error;
    const tokens = countTokens(error.source);
    if (tokens > documentLimits.tokens) throw new GraphQLError(overLimit('tokens', tokens));
    const { line, column } = getLocation(error.source, error.positions?.[0] ?? 0);
    throw new GraphQLError(`Syntax error at line ${line}, column ${column}.`, {
      source: error.source,
      positions: error.positions ?? null,
    });
  }
}

/** Tokens up to the end or to the first that is none. */
function countTokens(source: Source): number {
  const lexer = new Lexer(source);
  let count = 0;
  try {
    while (lexer.advance().kind !== TokenKind.EOF) count += 1;
  } catch {
    // Told as a syntax error, unless there were too many before it.
  }
  return count;
}

/** Validates a document of our own by the specification's rules, with our words where graphql-js prints a value. */
export function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  return validate(schema, document, rules).map(
    ({ message, nodes }) =>
      new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: 'BAD_REQUEST' } }),
  );
}

/** Validates a document that came from outside: first what it costs, for the other rules may be costly themselves. */
export function validateRequest(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  const [costly] = validate(schema, document, [limitDocument]);
  if (costly === undefined) return validateDocument(schema, document);
  return [new GraphQLError(costly.message, { extensions: { code: 'BAD_REQUEST' } })];
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
