import { expect, test } from 'vitest';
import { createDocumentCache } from '../src/graphql/execution/documents.ts';
import { schema } from '../src/schema.ts';

/** Valid documents of about one kilobyte, and of the maximum length. */
const small = (index: number) => `query Q${index} { workspaces { totalCount } } # ${' '.repeat(1000)}`;
const large = (index: number) => `query Q${index} { workspaces { totalCount } } # `.padEnd(65_536);

function createReader() {
  const read = createDocumentCache(schema);
  return (text: string) => {
    const found = read(text);
    if ('errors' in found) throw new Error(found.errors[0]?.message);
    return found.findOperation;
  };
}

test('caches documents by their whole text', () => {
  const read = createReader();
  const first = read('{ __typename }');

  expect(read('{ __typename }')).toBe(first);
  expect(read('{ __typename } ')).not.toBe(first);
});

test('evicts the oldest of many unique documents', () => {
  const read = createReader();
  const documents = Array.from({ length: 300 }, (_none, index) => read(small(index)));

  expect(read(small(299))).toBe(documents[299]);
  expect(read(small(0))).not.toBe(documents[0]);
});

test('limits the total size of cached documents', () => {
  const read = createReader();
  const first = read(large(0));
  for (let index = 1; index < 4; index += 1) read(large(index));

  expect(read(large(0))).not.toBe(first);
});
