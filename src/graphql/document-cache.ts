import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

/** Characters of all documents that are remembered together; a parsed one takes some hundred times its text. */
const MOST_CHARACTERS = 262_144;

/**
 * Remembers parsed documents by their text, so that a client's few queries are parsed once. Bounded by size: whoever
 * sends ever new documents of a megabyte must not fill the memory with them.
 */
export function rememberDocuments() {
  return {
    documentCache: new LRUCache<string, DocumentNode>(bySize),
    errorCache: new LRUCache<string, Error>(bySize),
  };
}

/** The bound of a cache by text. */
export const bySize = {
  maxSize: MOST_CHARACTERS,
  sizeCalculation: (_parsed: unknown, text: string) => text.length + 1,
};
