import { expect, test } from 'vitest';
import { createGraphQLServer } from '../../src/graphql/server.ts';
import { schema } from '../../src/schema.ts';

/** Valid documents of about one kilobyte, and of the maximum length. */
const small = (index: number) => `query Q${index} { workspaces { totalCount } } # ${' '.repeat(1000)}`;
const large = (index: number) => `query Q${index} { workspaces { totalCount } } # `.padEnd(65_536);
const invalid = (index: number) => `{ ${index}`.padEnd(65_536);

/** Returns the function with which Yoga parses documents. */
function createParser(): (text: string) => unknown {
  const yoga = createGraphQLServer(schema);
  return (text) => yoga.getEnveloped({}).parse(text);
}

/** Returns the error with which parsing fails. */
function catchError(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    return error;
  }
}

test('caches documents by their whole text', () => {
  const parse = createParser();
  const first = parse('{ __typename }');

  expect(parse('{ __typename }')).toBe(first);
  expect(parse('{ __typename } ')).not.toBe(first);
});

test('evicts the oldest of many unique documents', () => {
  const parse = createParser();
  const documents = Array.from({ length: 300 }, (_none, index) => parse(small(index)));

  expect(parse(small(299))).toBe(documents[299]);
  expect(parse(small(0))).not.toBe(documents[0]);
});

test('limits the total size of cached documents', () => {
  const parse = createParser();
  const first = parse(large(0));
  for (let index = 1; index < 4; index += 1) parse(large(index));

  expect(parse(large(0))).not.toBe(first);
});

test('limits the total size of documents whose errors are cached', () => {
  const parse = createParser();
  const first = catchError(parse, invalid(0));
  expect(catchError(parse, invalid(0))).toBe(first);
  for (let index = 1; index < 4; index += 1) catchError(parse, invalid(index));

  expect(catchError(parse, invalid(0))).not.toBe(first);
});
