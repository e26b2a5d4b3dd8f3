import { createHash } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { executeSync, type GraphQLSchema, getIntrospectionQuery, parse } from 'graphql';
import { LRUCache } from 'lru-cache';

/** The replies to introspection as JSON. The document determines them. */
export type IntrospectionReplies = ReturnType<typeof createIntrospectionReplies>;

/** Maximum size of the documents that are no standard query, and of the replies to them, in bytes. */
const MAX_KEPT_BYTES = 1_048_576;

/** Maximum size of the replies that are not compressed, in characters. One to a standard query has about 225,000. */
const MAX_RECENT_CHARACTERS = 33_554_432;

/** A compressed reply to an operation of a document. */
type Reply = { readonly operationName: string | undefined; readonly json: Buffer };

/** Creates the store of the replies of a schema. */
export function createIntrospectionReplies(schema: GraphQLSchema) {
  /** Compressed replies by normalized query. There are about 500 of these, with replies of at most 30 kB. */
  const prepared = new Map<string, Buffer>();
  const kept = new LRUCache<string, Reply>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ json }, query) => json.length + query.length,
  });

  /** The latest replies, because decompressing one takes as long as the rest of its request. */
  const recent = new LRUCache<Buffer, string>({
    maxSize: MAX_RECENT_CHARACTERS,
    sizeCalculation: ({ length }) => length,
  });

  function findPrepared(query: string, operationName: string | undefined): Buffer | undefined {
    if (query.length > MAX_STANDARD_CHARACTERS) return undefined;
    if (!query.includes('__schema') && !query.includes('__type(')) return undefined;
    const text = normalize(query);
    if (operationName !== undefined && !text.startsWith(`query ${operationName}{`)) return undefined;
    return prepared.get(text) ?? (isStandardQuery(text) ? prepare(text, query) : undefined);
  }

  function decompress(json: Buffer): string {
    const text = recent.get(json) ?? zstdDecompressSync(json).toString();
    recent.set(json, text);
    return text;
  }

  function prepare(text: string, query: string): Buffer {
    const json = compress(executeSync({ schema, document: parse(query) }));
    prepared.set(text, json);
    return json;
  }

  return {
    /** Finds the reply to a standard introspection query, or one that was kept. */
    find(query: string, operationName: string | undefined): string | undefined {
      const known = kept.get(query);
      const json =
        known?.operationName === operationName && known ? known.json : findPrepared(query, operationName);
      return json && decompress(json);
    },
    /** Keeps the reply to an operation without variables. */
    keep(query: string, operationName: string | undefined, result: object): void {
      kept.set(query, { operationName, json: compress(result) });
    },
  };
}

function compress(result: object): Buffer {
  return zstdCompressSync(JSON.stringify(result));
}

/** Standard queries take up to 3,000 characters when indented. Longer documents are not compared with them. */
const MAX_STANDARD_CHARACTERS = 8192;

/** The fewest levels of `ofType` in a standard query. Types of the schema are wrapped less often. */
const TYPE_DEPTH = 7;

/** The levels of `ofType` at the end of a standard query. */
const TYPE_LEVELS = new RegExp(`( ofType\\{(?:kind name|name kind))\\1{${TYPE_DEPTH - 1},}\\}+$`);

/** Removes insignificant whitespace and commas, and levels of `ofType` that do not change the reply. */
function normalize(query: string): string {
  return query
    .replaceAll(/[\s,]+/g, ' ')
    .replaceAll(/ ?([{}():]) ?/g, '$1')
    .trim()
    .replace(TYPE_LEVELS, (all, level: string) => {
      const isBalanced = all === nest(level, all.split(level).length - 1);
      return isBalanced ? nest(level, TYPE_DEPTH) : all;
    });
}

function nest(level: string, depth: number): string {
  return level.repeat(depth) + '}'.repeat(depth + 1);
}

/** The names of the root types in earlier queries of graphql-js, and in the current one. */
const EARLIER_ROOT_TYPES = 'queryType{name}mutationType{name}subscriptionType{name}';
const ROOT_TYPES = EARLIER_ROOT_TYPES.replaceAll('name', 'name kind');

/**
 * Whether a normalized document is the query that graphql-js creates with any options, in its current or an earlier
 * form, which other implementations of GraphQL have copied, or that of another tool.
 */
function isStandardQuery(text: string): boolean {
  const current = text
    .replace(EARLIER_ROOT_TYPES, ROOT_TYPES)
    .replace(nest(' ofType{kind name', TYPE_DEPTH), nest(' ofType{name kind', TYPE_DEPTH));
  const query = getIntrospectionQuery({
    descriptions: current.includes('description'),
    schemaDescription: current.includes('__schema{description'),
    specifiedByUrl: current.includes('specifiedByURL'),
    directiveIsRepeatable: current.includes('isRepeatable'),
    inputValueDeprecation: current.includes('inputFields(includeDeprecated'),
    experimentalDirectiveDeprecation: current.includes('directives(includeDeprecated'),
    oneOf: current.includes('isOneOf'),
    typeDepth: TYPE_DEPTH,
  });
  return normalize(query) === current || otherQueries.has(createHash('sha256').update(text).digest('hex'));
}

/** SHA-256 of the normalized queries of other tools. test/graphql/introspection-queries.json has their texts. */
const otherQueries: ReadonlySet<string> = new Set([
  // gql.tada
  'e823e4e8f66dab0661196c662453a57d2a62cd495430b5a6e446246c72fa671e',
  // gql.tada, which first asks for the features of the server
  '0f3f90b4b446931b4169b7c9e6058fef14442c998a5847e343b99c9f229b952b',
  // Rover
  '2dabab54644a7dc63c843790b1102a28b8bd5a9d8fc7c2b094e4880f936495c3',
]);
