import { expect, test } from 'vitest';
import { createGraphQLServer } from '../../src/graphql/server.ts';
import { schema } from '../../src/schema.ts';

/** Returns what Yoga keeps of a document: the parsed one, or the error with which parsing fails. */
function createParser(): (text: string) => unknown {
  const yoga = createGraphQLServer(schema);
  return (text) => {
    try {
      return yoga.getEnveloped({}).parse(text);
    } catch (error) {
      return error;
    }
  };
}

test.each<[what: string, count: number, create: (index: number) => string]>([
  ['many documents', 300, (index) => `query Q${index} { workspaces { totalCount } } #`.padEnd(1000)],
  ['a few of the maximum length', 4, (index) => `query Q${index} { __typename } #`.padEnd(65_536)],
  ['a few invalid ones of the maximum length', 4, (index) => `{ ${index}`.padEnd(65_536)],
])('documents are cached by their whole text, and the oldest of %s is evicted', (_what, count, create) => {
  const parse = createParser();
  const first = parse(create(0));
  expect(parse(create(0))).toBe(first);
  expect(parse(`${create(0).trimEnd()}\t`)).not.toBe(first);
  for (let index = 1; index < count; index += 1) parse(create(index));
  expect(parse(create(0))).not.toBe(first);
});
