import { getIntrospectionQuery } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { graphql, sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { recordStatementsWith } from '../support/statements.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway({ GRAPHIQL: 'true' });
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const send = (query: string, variables: Record<string, unknown> = {}) =>
  graphql(gateway, query, variables, { token });
const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');

/** Documents with a given amount of one thing and little of everything else. */
const documentsBySize: Record<string, (count: number) => string> = {
  characters: (count) => '{ workspaces { totalCount } } #'.padEnd(count),
  // A query with a selection, arguments and a list has four levels before the nested lists.
  'nested brackets': (count) =>
    `query ($a: JSON) { workspaces(filter: { statuses: ${'['.repeat(count - 3)}${']'.repeat(count - 3)} }) { totalCount } }`,
  tokens: (count) =>
    `{ workspaces(filter: { statuses: [${'RUNNING '.repeat(count - 16)}] }) { totalCount } }`,
  operations: (count) => repeat(count, (i) => `query Q${i} { __typename }`),
  fragments: (count) =>
    `{ workspaces { ${repeat(count, (i) => `...F${i}`)} } } ${repeat(count, (i) => `fragment F${i} on WorkspaceConnection { totalCount }`)}`,
  'levels of fields': (count) =>
    `{ __schema { types { ${'ofType { '.repeat(count - 3)} name ${'} '.repeat(count - 3)} } } }`,
  'root fields in an operation': (count) => `{ ${'__typename '.repeat(count)} }`,
  aliases: (count) => `{ workspaces(first: 1) { ${repeat(count, (i) => `a${i}: totalCount`)} } }`,
  directives: (count) =>
    `{ workspaces(first: 1) { ${repeat(count, (i) => `...F @${i % 2 ? 'skip(if: false)' : 'include(if: true)'}`)} } } fragment F on WorkspaceConnection { totalCount }`,
  // One for the connection, and ten per field for ten records.
  cost: (count) => `{ workspaces(first: 10) { ${repeat((count - 1) / 10, () => '__typename')} } }`,
};

test.each([
  ['characters', 65_536],
  ['nested brackets', 100],
  ['tokens', 5000],
  ['operations', 50],
  ['fragments', 50],
  ['levels of fields', 16],
  ['root fields in an operation', 20],
  ['aliases', 50],
  ['directives', 50],
  ['cost', 25_001 - 10],
])('accepts a document with %s up to %i', async (name, max) => {
  const { text } = await send(documentsBySize[name]?.(max) ?? '');

  expect(text).not.toContain('exceeds the limit');
});

test.each([
  ['tokens', 5000, 5001],
  ['characters', 65_536, 65_537],
  ['characters', 65_536, 1_000_000],
  ['nested brackets', 100, 101],
  ['nested brackets', 100, 30_000],
  ['operations', 50, 51],
  ['fragments', 50, 51],
  ['fragments', 50, 300],
  ['levels of fields', 16, 17],
  ['levels of fields', 16, 90],
  ['root fields in an operation', 20, 21],
  ['aliases', 50, 51],
  ['directives', 50, 51],
  ['cost', 25_000, 25_001],
])('rejects a document whose %s exceed %i, reporting the actual number %i', async (name, max, found) => {
  const { status, text, errors } = await send(documentsBySize[name]?.(found) ?? '');

  expect(status).toBe(400);
  expect(JSON.parse(text)).not.toHaveProperty('data');
  expect(errors).toEqual([
    {
      message: `The document exceeds the limit for ${name}: ${found}, maximum ${max}.`,
      extensions: { code: 'BAD_REQUEST' },
    },
  ]);
});

const records = '{ nodes { id projectId status hardware { cpus } } }';

test.each([
  ['a literal page size', `{ workspaces(first: 3) ${records} }`, 3 * 6 + 1],
  ['a page size given by `last`', `{ workspaces(last: 3) ${records} }`, 3 * 6 + 1],
  ['the default page size', `{ workspaces ${records} }`, 50 * 6 + 1],
  [
    'the maximum for a page size in a variable',
    `query ($n: Int) { workspaces(first: $n) ${records} }`,
    100 * 6 + 1,
  ],
  ['the maximum for a page size of null', `{ workspaces(first: null) ${records} }`, 100 * 6 + 1],
  ['the maximum for a page size above it', `{ workspaces(first: 999999) ${records} }`, 100 * 6 + 1],
  [
    'the maximum for an astronomical page size',
    `{ workspaces(first: ${'9'.repeat(400)}) ${records} }`,
    100 * 6 + 1,
  ],
  ['one record for a page size of zero', `{ workspaces(first: 0) ${records} }`, 6 + 1],
  ['one record for a negative page size', `{ workspaces(first: -99999) ${records} }`, 6 + 1],
  ['the larger of `first` and `last`', `{ workspaces(first: 2, last: 5) ${records} }`, 5 * 6 + 1],
  [
    'the fields of a named fragment',
    `{ workspaces(first: 3) { ...F } } fragment F on WorkspaceConnection ${records}`,
    3 * 6 + 1,
  ],
  ['the fields of an inline fragment', `{ workspaces(first: 3) { ... ${records} } }`, 3 * 6 + 1],
])('the cost of a document includes %s', async (_what, document, cost) => {
  // Adds a field whose cost is known and exceeds the limit.
  const filler = ` a: ${documentsBySize.cost?.(25_001).slice(1, -1)} `;

  const { errors } = await send(document.replace(/\}( fragment|$)/, `${filler} }$1`));

  expect(errors[0].message).toBe(`The document exceeds the limit for cost: ${25_001 + cost}, maximum 25000.`);
});

const fieldsOfTypes = '{ types { name fields { name type { name ofType { name } } } } }';
const descriptions = (list: string) => repeat(40, (i) => `a${i}: ${list} { name description }`);

test.each([
  '{ __schema { queryType { name } } __type(name: "Query") { name } __typename }',
  '{ __schema { queryType { name } } ...F } fragment F on Query { __type(name: "Query") { name } }',
  `{ __schema ${fieldsOfTypes} }`,
  '{ __type(name: "Notification") { possibleTypes { name fields { name } } } }',
  getIntrospectionQuery({ typeDepth: 7 }).replace('IntrospectionQuery', 'OfAnotherTool'),
])('accepts introspection of a moderate cost: %s', async (query) => {
  const { status, errors } = await send(query);

  expect([status, errors]).toEqual([200, []]);
});

test.each([
  `{ __schema { ${repeat(20, (i) => `a${i}: types { name description fields { name description } }`)} } }`,
  `{ __type(name: "Query") { ${descriptions('fields')} } }`,
  `{ __schema { queryType { fields { type { ofType { ${descriptions('fields')} } } } } } }`,
  `{ __schema { types { possibleTypes { ${descriptions('fields')} } } } }`,
  `{ __schema { types { ...A } } } fragment A on __Type { ${descriptions('fields')} }`,
])("the cost of introspection includes the lengths of the schema's lists: %s", async (query) => {
  const { status, errors } = await send(query);

  expect(status).toBe(400);
  expect(errors[0].message).toMatch(/^The document exceeds the limit for cost: \d+, maximum 25000\.$/);
});

test.each([
  ['with an alias', '{ a: __schema { queryType { name } } }'],
  ['with its own name as the alias', '{ __type: __type(name: "Query") { name } }'],
  ['twice', '{ __type(name: "Query") { name } __type(name: "Query") { kind } }'],
  [
    'twice in fragments',
    '{ ...A ...B } fragment A on Query { ...C } fragment B on Query { ...C } fragment C on Query { __schema { queryType { name } } ... { __schema { types { name } } } }',
  ],
  [
    'in two operations',
    'query A { __type(name: "Query") { name } } query B { __type(name: "User") { name } }',
  ],
  ['beside another root field', '{ __schema { queryType { name } } workspaces { totalCount } }'],
  [
    'beside another root field in a fragment',
    '{ ...A workspaces { totalCount } } fragment A on Query { __type(name: "Query") { name } }',
  ],
])('rejects introspection %s', async (_what, query) => {
  const operationName = query.startsWith('query A') ? 'A' : undefined;
  const { status, errors } = await sendParameters(gateway, { query, operationName }, { token });

  expect(status).toBe(400);
  expect(errors).toEqual([
    {
      message:
        'A document may contain `__schema` and `__type` once each, without an alias and not beside other root fields.',
      extensions: { code: 'BAD_REQUEST' },
    },
  ]);
});

const payloads = (fields: string) =>
  ['TaskFailed', 'TaskResponseReady']
    .map((kind) => `... on ${kind}Notification { payload { ${fields} } }`)
    .join(' ');
const ofPage = (first: number | string, fields: string) =>
  `notifications(first: ${first}) { nodes { ... on UserNotification { id } ${fields} } }`;

test.each([
  [
    'payloads of several kinds once: a quarter for 100',
    `{ ${ofPage(100, payloads('message'))} }`,
    1 + 100 * 66,
  ],
  ['once again for each alias inside', `{ ${ofPage(100, payloads('message a: message'))} }`, 1 + 100 * 128],
  [
    'answers, half as much each',
    `{ ${ofPage(100, '... on UserNotification { request { answer { via } onExpiry { via } } }')} }`,
    1 + 100 * (1 + 1 + 1 + 65),
  ],
  ['previews', `{ ${ofPage(100, '... on UserNotification { previewText }')} }`, 1 + 100 * 13],
  [
    'what is selected inside, if that is more',
    `{ ${ofPage(1, '... on QuestionRequestedNotification { payload { questions { options { label description preview } } toolId } }')} }`,
    1 + 66,
  ],
])('the cost of a document includes %s', async (_what, document, cost) => {
  const filler = ` a: ${documentsBySize.cost?.(25_001).slice(1, -1)} `;

  const { errors } = await send(document.replace(/\}$/, `${filler} }`));

  const found = Math.ceil(25_001 + cost);
  expect(errors[0].message).toBe(`The document exceeds the limit for cost: ${found}, maximum 25000.`);
});

test.each([
  ['a query', `{ workspaces(first: 1) { ${repeat(51, (i) => `a${i}: totalCount`)} } }`],
  [
    'a query with too many root fields',
    `{ ${repeat(21, (i) => `a${i}: workspaces(first: 1) { totalCount }`)} }`,
  ],
  [
    'a mutation',
    `mutation { deleteEditorAuth { editorAuth { ${repeat(51, (i) => `a${i}: needsReauth`)} } } }`,
  ],
])('does not run any part of a rejected document: %s', async (_what, query) => {
  const statements = await recordStatementsWith('alice', async () => {
    expect((await send(query)).status).toBe(400);
  });

  expect(statements).toEqual([]);
});

test('does not run mutations of a document with too many root fields', async () => {
  const { id } = await publish(gateway, 'alice');

  const { errors } = await send(
    `mutation { ${repeat(21, (i) => `a${i}: dismissNotification(input: { id: "${id}" }) { __typename }`)} }`,
  );

  expect(errors[0].message).toContain('root fields in an operation: 21');
  expect(await gateway.database.sql('select status from notification where id = $1', [id])).toEqual([
    { status: 'active' },
  ]);
});
