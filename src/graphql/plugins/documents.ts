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
import { anonymous } from '../../auth/viewer.ts';
import type { Context, GatewayPlugin } from '../../context.ts';
import { BadRequestError, UnauthenticatedError } from '../../errors/gateway-errors.ts';
import { contextOf } from '../../server/caller.ts';
import { documentLimits, limitCost, measureNesting, requireWithinLimit } from '../document-limits.ts';
import type { IntrospectionReplies } from '../introspection-replies.ts';
import { isIntrospection } from '../operation.ts';

/**
 * Charges new documents, and limits all documents, before they are parsed and validated. Unlike general-purpose rules,
 * the cost takes page sizes into account. Introspection whose reply is known is not even parsed.
 */
export function useDocuments(caches: DocumentCaches, replies: IntrospectionReplies): GatewayPlugin {
  return {
    onParams({ params: { query = '', operationName }, setResult, context: { res } }) {
      const reply = query.includes('__') ? replies.find(query, operationName) : undefined;
      if (reply !== undefined) {
        const prepared = { data: null, stringify: () => reply };
        return setResult(prepared);
      }
      const context = contextOf(res);
      if (context.viewer === anonymous) return admitAnonymous(context, query);
      const isCached = caches.documentCache.has(query) || caches.errorCache.has(query);
      return isCached ? undefined : context.quota.chargeDocument(context, query.length);
    },
    onParse: ({ setParseFn }) => setParseFn(parseDocument),
    onValidate: ({ setValidationFn }) => setValidationFn(validateDocument),
  };
}

/**
 * Matches a document whose first root field is not introspection. Documents that begin with a fragment, or contain a
 * string before that field, never match.
 */
const OTHER_ROOT_FIELD =
  /^(?:\s*#[^\n\r]*[\n\r])*(?!\s*fragment\b)[^{}()#"]*(?:\([^{}()#"]*\)[^{}()#"]*)?\{\s*(?:\w+\s*:\s*(?!__)\w|(?!__)\w+\b(?!\s*:))/;

/**
 * Admits a document without a token. Documents of most clients that forgot their token are rejected without being parsed,
 * so that they cannot use up the documents of introspection.
 * @throws {UnauthenticatedError} unless all root fields are introspection, also if the document cannot be parsed
 * @throws {RateLimitedError} if too many documents were admitted
 */
async function admitAnonymous(context: Context, query: string): Promise<void> {
  if (!OTHER_ROOT_FIELD.test(query)) {
    await context.quota.chargeDocument(context, query.length);
    try {
      if (isIntrospection(parseDocument(query))) return;
    } catch {
      // The missing token takes precedence.
    }
  }
  throw UnauthenticatedError.missingToken('no token; only introspection is allowed without one');
}

/** Yoga's caches of documents and of syntax errors. */
type DocumentCaches = ReturnType<typeof createDocumentCaches>;

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
    const kinds = document.definitions.map(({ kind }) => kind);
    requireWithinLimit('operations', kinds.filter((kind) => kind === Kind.OPERATION_DEFINITION).length);
    requireWithinLimit('fragments', kinds.filter((kind) => kind === Kind.FRAGMENT_DEFINITION).length);
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
