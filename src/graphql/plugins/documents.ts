import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  Lexer,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { GatewayPlugin } from '../../context.ts';
import { BadRequestError } from '../../errors/gateway-errors.ts';
import { documentLimits, limitCost, measureNesting, requireWithinLimit } from '../document-limits.ts';

/**
 * Limits documents before they are parsed and validated. Unlike general-purpose rules, the cost takes page sizes into
 * account.
 */
export function useDocuments(): GatewayPlugin {
  return {
    onParse: ({ setParseFn }) => setParseFn(parseDocument),
    onValidate: ({ setValidationFn }) => setValidationFn(validateDocument),
  };
}

/** The maximum text in each cache. A parsed document takes about a hundred times the memory of its text. */
const MAX_CACHED_CHARACTERS = 262_144;

/** Creates Yoga's caches of documents and of syntax errors, limited by size: unique documents must not fill the memory. */
export function createDocumentCaches() {
  const sizeCalculation = (_cached: unknown, text: string) => text.length + 1;
  const options = { maxSize: MAX_CACHED_CHARACTERS, sizeCalculation };
  return {
    documentCache: new LRUCache<string, DocumentNode>(options),
    errorCache: new LRUCache<string, Error>(options),
  };
}

/** With more errors, validation stops. graphql-js then adds an error that says so, so at most 20 are returned. */
const MAX_VALIDATION_ERRORS = 19;

/**
 * Parses a document within the limits of length, nesting and tokens. Error messages contain the location but no text,
 * which may include a misplaced credential.
 *
 * The source of the parsed document is emptied, because every `GraphQLError` searches it for line breaks, once per
 * node. Locations are read from the tokens instead.
 * @throws {GraphQLError} for a syntax error
 * @throws {BadRequestError} if the document exceeds a limit
 */
export function parseDocument(text: string): DocumentNode {
  requireWithinLimit('characters', text.length);
  requireWithinLimit('nesting', measureNesting(text));
  const source = new Source(text);
  try {
    const document = parse(source, { maxTokens: documentLimits.tokens.max });
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    requireWithinLimit('operations', operations.length);
    return document;
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    requireWithinLimit('tokens', countTokens(text));
    const [{ line, column } = { line: 1, column: 1 }] = error.locations ?? [];
    const originalError = new BadRequestError(`Syntax error at line ${line}, column ${column}.`);
    const positions = error.positions ?? null;
    throw new GraphQLError(originalError.message, { source, positions, originalError });
  } finally {
    source.body = '';
  }
}

/** Counts the tokens up to the end or the first syntax error. */
function countTokens(text: string): number {
  const lexer = new Lexer(new Source(text));
  let count = 0;
  try {
    while (lexer.advance().kind !== TokenKind.EOF) count += 1;
  } catch {
    // The caller reports the syntax error, unless there were too many tokens before it.
  }
  return count;
}

/** Validates the cost of a document first, because other rules take long for a costly document. */
export function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly Error[] {
  const [costly] = validate(schema, document, [limitCost]);
  if (costly !== undefined) return [new BadRequestError(costly.message)];
  return validate(schema, document, specifiedRules, { maxErrors: MAX_VALIDATION_ERRORS });
}
