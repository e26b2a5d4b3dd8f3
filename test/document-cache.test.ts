import { parse } from 'graphql';
import { expect, test } from 'vitest';
import { rememberDocuments } from '../src/graphql/document-cache.ts';

const parsed = parse('{ __typename }');
/** A document that parses as `{ __typename }` and is as large as a body may be. */
const large = (index: number) => `{ __typename } # ${index}${' '.repeat(1_000_000)}`;
const small = (index: number) => `query Q${index} { workspaces { totalCount } } # ${' '.repeat(1000)}`;

test('a document is remembered by its whole text', () => {
  const documents = rememberDocuments();
  documents.set('{ __typename }', parsed);

  expect(documents.get('{ __typename }')).toBe(parsed);
  expect(documents.get('{ __typename } ')).toBeUndefined();
});

test('of large documents none is kept', () => {
  const documents = rememberDocuments();
  for (let index = 0; index < 10; index += 1) documents.set(large(index), parsed);

  expect(documents.size).toBe(0);
});

test('of ever new documents only the latest are kept', () => {
  const documents = rememberDocuments();
  for (let index = 0; index < 2000; index += 1) documents.set(small(index), parsed);

  expect(documents.size).toBeLessThan(300);
  expect(documents.get(small(1999))).toBe(parsed);
});
