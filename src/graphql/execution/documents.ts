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
import { documentLimits, type Limited, limitDocument, measureNesting, overLimit } from './document-limits.ts';
import { createOperations, type FindOperation } from './operation.ts';

/** Valid documents are cached up to this many characters together; a parsed one takes some hundred times its text. */
const MAX_CACHED_CHARACTERS = 262_144;

/** One more says that validation stopped. */
const MAX_VALIDATION_ERRORS = 19;

/**
 * Parses and validates documents, and caches those that are valid. Bounded by size, so that unique documents cannot
 * fill the memory.
 */
export function createDocuments(schema: GraphQLSchema) {
  const documents = new LRUCache<string, FindOperation>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_document, text) => text.length + 1,
  });

  /** Returns the operations of the document, or what is wrong with it. Throws as {@link parseDocument} does. */
  return (text: string): { document: FindOperation } | { errors: readonly Error[] } => {
    const known = documents.get(text);
    if (known !== undefined) return { document: known };
    const node = parseDocument(text);
    const errors = validateDocument(schema, node);
    if (errors.length > 0) return { errors };
    const document = createOperations(schema, node);
    documents.set(text, document);
    return { document };
  };
}

/** Opens a document of the gateway's own, without limits. @throws {Error} if it does not fit the schema */
export function openOwnDocument(schema: GraphQLSchema, text: string): FindOperation {
  const node = parse(text);
  const [error] = validate(schema, node);
  if (error !== undefined) throw new Error(`${error.message} In: ${text}`);
  return createOperations(schema, node);
}

/**
 * Parses a document within the limits of length, nesting and tokens. Messages say where, never what: a credential may
 * stand in the wrong place.
 *
 * Every `GraphQLError` searches the source for line breaks, once for each of its nodes. The source of a parsed document
 * is therefore emptied; the mask reads line and column from the tokens.
 * @throws {GraphQLError | BadRequestError} if the text is not GraphQL or is over a limit
 */
export function parseDocument(text: string): DocumentNode {
  requireWithin('characters', text.length);
  requireWithin('nesting', measureNesting(text));
  const source = new Source(text);
  try {
    return parse(source, { maxTokens: documentLimits.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    requireWithin('tokens', countTokens(text));
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

/** @throws {BadRequestError} if a document has more of something than the limit allows */
function requireWithin(name: Limited, found: number): void {
  if (found > documentLimits[name]) throw new BadRequestError(overLimit(name, found));
}

/** Counts the tokens up to the end or to the first that is invalid. */
function countTokens(text: string): number {
  const lexer = new Lexer(new Source(text));
  let count = 0;
  try {
    while (lexer.advance().kind !== TokenKind.EOF) count += 1;
  } catch {
    // Reported as a syntax error, unless there were too many before it.
  }
  return count;
}

/** Validates what a document costs, and then everything else: other rules may be costly themselves. */
export function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly Error[] {
  const [costly] = validate(schema, document, [limitDocument]);
  if (costly !== undefined) return [new BadRequestError(costly.message)];
  return validate(schema, document, specifiedRules, { maxErrors: MAX_VALIDATION_ERRORS });
}
