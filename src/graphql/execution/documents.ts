import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Lexer,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { BadRequestError } from '../../errors/gateway-errors.ts';
import { limitCost } from './document-cost.ts';
import { documentLimits, measureNesting, requireWithinLimit } from './document-limits.ts';
import { createOperations, type FindOperation, type Operation } from './operation.ts';

/**
 * The maximum size of the cache in characters of text. A parsed document takes about a hundred times the memory of its
 * text.
 */
const MAX_CACHED_CHARACTERS = 262_144;

/** With more errors, validation stops. graphql-js then adds an error that says so, so at most 20 are returned. */
const MAX_VALIDATION_ERRORS = 19;

/**
 * Creates a function that parses and validates documents, and caches those that are valid. The cache is limited by
 * size, so that unique documents cannot exhaust the memory.
 */
export function createDocumentCache(schema: GraphQLSchema) {
  const documents = new LRUCache<string, FindOperation>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_document, text) => text.length + 1,
  });

  /** Returns the operations of a document, or its validation errors. Throws as {@link parseDocument} does. */
  return (text: string): { findOperation: FindOperation } | { errors: readonly Error[] } => {
    const known = documents.get(text);
    if (known !== undefined) return { findOperation: known };
    const node = parseDocument(text);
    const errors = validateDocument(schema, node);
    if (errors.length > 0) return { errors };
    const findOperation = createOperations(schema, node);
    documents.set(text, findOperation);
    return { findOperation };
  };
}

/**
 * Parses and validates a document of the gateway itself, without limits. Returns its only operation. @throws {Error} if
 * it is invalid
 */
export function openTrustedOperation(schema: GraphQLSchema, text: string): Operation {
  const node = parse(text);
  const [error] = validate(schema, node);
  if (error !== undefined) throw new Error(`${error.message} In: ${text}`);
  return createOperations(schema, node)();
}

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
    return parse(source, { maxTokens: documentLimits.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    requireWithinLimit('tokens', countTokens(text));
    const [{ line, column } = { line: 1, column: 1 }] = error.locations ?? [];
    const originalError = new BadRequestError(`Syntax error at line ${line}, column ${column}.`);
    throw new GraphQLError(originalError.message, {
      source,
      positions: error.positions ?? null,
      originalError,
    });
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
