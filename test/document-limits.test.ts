import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { publish } from './support/records.ts';
import { recordStatementsWith } from './support/statements.ts';
import { member } from './support/tokens.ts';

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway({ GRAPHIQL: 'true' });
  token = await member('alice');
});
afterAll(() => gateway.close());

const send = (query: string, variables: Record<string, unknown> = {}) =>
  graphql(gateway, query, variables, { token });
const times = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');

/** Documents that have so much of one thing and little of all others. */
const sized: Record<string, (count: number) => string> = {
  characters: (count) => '{ workspaces { totalCount } } #'.padEnd(count),
  // A query with a selection, arguments and a list is four levels deep before the lists inside.
  nesting: (count) =>
    `query ($a: JSON) { workspaces(status: ${'['.repeat(count - 2)}${']'.repeat(count - 2)}) { totalCount } }`,
  tokens: (count) => `{ workspaces(status: [${'RUNNING '.repeat(count - 12)}]) { totalCount } }`,
  operations: (count) => times(count, (i) => `query Q${i} { __typename }`),
  depth: (count) =>
    `{ __schema { types { ${'ofType { '.repeat(count - 3)} name ${'} '.repeat(count - 3)} } } }`,
  'root fields': (count) => `{ ${'__typename '.repeat(count)} }`,
  aliases: (count) => `{ workspaces(first: 1) { ${times(count, (i) => `a${i}: totalCount`)} } }`,
  directives: (count) =>
    `{ workspaces(first: 1) { ${times(count, (i) => `...F @${i % 2 ? 'skip(if: false)' : 'include(if: true)'}`)} } } fragment F on WorkspaceConnection { totalCount }`,
  // One for the connection, ten for each field of ten records.
  cost: (count) => `{ workspaces(first: 10) { ${times((count - 1) / 10, () => '__typename')} } }`,
};

test.each([
  ['characters', 65_536],
  ['nesting', 100],
  ['tokens', 5000],
  ['operations', 50],
  ['depth', 16],
  ['root fields', 20],
  ['aliases', 50],
  ['directives', 50],
  ['cost', 25_001 - 10],
])('a document with %s %i is not too costly', async (name, most) => {
  const { text } = await send(sized[name]?.(most) ?? '');

  expect(text).not.toContain('too costly');
});

test.each([
  ['tokens', 5000, 5001],
  ['characters', 65_536, 65_537],
  ['characters', 65_536, 1_000_000],
  ['nesting', 100, 101],
  ['nesting', 100, 30_000],
  ['operations', 50, 51],
  ['depth', 16, 17],
  ['depth', 16, 90],
  ['root fields', 20, 21],
  ['aliases', 50, 51],
  ['directives', 50, 51],
  ['cost', 25_000, 25_001],
])('a document over the limit of %s, %i, is told so and how much it has: %i', async (name, most, found) => {
  const { status, text, errors } = await send(sized[name]?.(found) ?? '');

  expect(status).toBe(400);
  expect(JSON.parse(text)).not.toHaveProperty('data');
  expect(errors).toEqual([
    {
      message: `The document is too costly: ${name} ${found}, at most ${most} allowed.`,
      extensions: { code: 'BAD_REQUEST' },
    },
  ]);
});

const records = '{ nodes { id projectId status hardware { cpus } } }';

test.each([
  ['a page size that is literal', `{ workspaces(first: 3) ${records} }`, 3 * 6 + 1],
  ['a page size from the end', `{ workspaces(last: 3) ${records} }`, 3 * 6 + 1],
  ['the default page size', `{ workspaces ${records} }`, 50 * 6 + 1],
  [
    'a page size in a variable, as the largest',
    `query ($n: Int) { workspaces(first: $n) ${records} }`,
    100 * 6 + 1,
  ],
  ['a page size that is null, as the largest', `{ workspaces(first: null) ${records} }`, 100 * 6 + 1],
  ['a page size that is too large, as the largest', `{ workspaces(first: 999999) ${records} }`, 100 * 6 + 1],
  [
    'a page size beyond all numbers, as the largest',
    `{ workspaces(first: ${'9'.repeat(400)}) ${records} }`,
    100 * 6 + 1,
  ],
  ['a page size of zero, as the smallest', `{ workspaces(first: 0) ${records} }`, 6 + 1],
  ['a negative page size, as the smallest', `{ workspaces(first: -99999) ${records} }`, 6 + 1],
  ['the larger of two page sizes', `{ workspaces(first: 2, last: 5) ${records} }`, 5 * 6 + 1],
  [
    'the fields of a named fragment',
    `{ workspaces(first: 3) { ...F } } fragment F on WorkspaceConnection ${records}`,
    3 * 6 + 1,
  ],
  ['the fields of an inline fragment', `{ workspaces(first: 3) { ... ${records} } }`, 3 * 6 + 1],
])('the cost of a document counts %s', async (_what, document, cost) => {
  // Made too costly by a part whose cost is known.
  const filler = ` a: ${sized.cost?.(25_001).slice(1, -1)} `;

  const { errors } = await send(document.replace(/\}( fragment|$)/, `${filler} }$1`));

  expect(errors[0].message).toBe(`The document is too costly: cost ${25_001 + cost}, at most 25000 allowed.`);
});

test.each([
  ['reading', `{ workspaces(first: 1) { ${times(51, (i) => `a${i}: totalCount`)} } }`],
  ['too many readings', `{ ${times(21, (i) => `a${i}: workspaces(first: 1) { totalCount }`)} }`],
  ['changing', `mutation { deleteEditorAuth { editorAuth { ${times(51, (i) => `a${i}: needsReauth`)} } } }`],
])('nothing runs of a document that is refused: %s', async (_what, query) => {
  const statements = await recordStatementsWith('alice', async () => {
    expect((await send(query)).status).toBe(400);
  });

  expect(statements).toEqual([]);
});

test('no mutation of a document that is refused is done', async () => {
  const { id } = await publish(gateway, 'alice');

  const { errors } = await send(
    `mutation { ${times(21, (i) => `a${i}: dismissNotification(input: { id: "${id}" }) { __typename }`)} }`,
  );

  expect(errors[0].message).toContain('root fields 21');
  expect(await gateway.database.sql('select status from notification where id = $1', [id])).toEqual([
    { status: 'active' },
  ]);
});

test.each([
  {},
  {
    oneOf: true,
    inputValueDeprecation: true,
    specifiedByUrl: true,
    schemaDescription: true,
    directiveIsRepeatable: true,
  },
])('the introspection of every tool passes: %o', async (options) => {
  const { status, errors } = await graphql(gateway, getIntrospectionQuery(options));

  expect([status, errors]).toEqual([200, []]);
});
