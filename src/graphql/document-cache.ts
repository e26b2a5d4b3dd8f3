import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

/** Characters of all documents that are remembered together; a parsed one takes some hundred times its text. */
const MOST_CHARACTERS = 262_144;

/**
 * Remembers valid documents by their text, so that a client's few queries are parsed once. Bounded by size: whoever
 * sends ever new documents of a megabyte must not fill the memory with them.
 */
export function rememberDocuments(): LRUCache<string, DocumentNode> {
  return new LRUCache({
    maxSize: MOST_CHARACTERS,
    sizeCalculation: (_document, text) => text.length + 1,
  });
}
