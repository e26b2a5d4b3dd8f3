import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { rememberDocuments } from '../src/graphql/document-cache.ts';

const parsed = parse('{ __typename }');
/** A document that parses as `{ __typename }` and is as large as a body may be. */
const large = (index: number) => `{ __typename } # ${index}${' '.repeat(1_000_000)}`;
const small = (index: number) => `query Q${index} { workspaces { totalCount } } # ${' '.repeat(1000)}`;

test('a document is remembered by its whole text', () => {
  const { documentCache } = rememberDocuments();
  documentCache.set('{ __typename }', parsed);

  expect(documentCache.get('{ __typename }')).toBe(parsed);
  expect(documentCache.get('{ __typename } ')).toBeUndefined();
});

test('of large documents, good and bad ones, none is kept', () => {
  const { documentCache, errorCache } = rememberDocuments();
  for (let index = 0; index < 10; index += 1) {
    documentCache.set(large(index), parsed);
    errorCache.set(large(index), new Error());
  }

  expect([documentCache.size, errorCache.size]).toEqual([0, 0]);
});

test('of ever new documents only the latest are kept', () => {
  const { documentCache } = rememberDocuments();
  for (let index = 0; index < 2000; index += 1) documentCache.set(small(index), parsed);

  expect(documentCache.size).toBeLessThan(300);
  expect(documentCache.get(small(1999))).toBe(parsed);
});
