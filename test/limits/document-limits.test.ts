import { getIntrospectionQuery } from 'graphql';
import { describe, expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { type GraphQLReply, sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { recordStatementsWith } from '../support/statements.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway({ GRAPHIQL: 'true' });
const alice = gateway.as('alice');

const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');

/** Makes a document that costs this much: one for the connection, and ten per field for ten records. */
const makeCostly = (cost: number) =>
  `{ workspaces(first: 10) { ${repeat((cost - 1) / 10, () => '__typename')} } }`;

/** Documents with a given amount of one thing and little of everything else, its limit, and amounts above that. */
const sizes: [name: string, max: number, make: (count: number) => string, ...tooMany: number[]][] = [
  ['characters', 65_536, (count) => '{ workspaces { totalCount } } #'.padEnd(count), 65_537, 1_000_000],
  [
    // A query with a selection, arguments and a list has three levels before the nested lists.
    'nested brackets',
    100,
    (count) =>
      `{ workspaces(filter: { statuses: ${'['.repeat(count - 3)}${']'.repeat(count - 3)} }) { totalCount } }`,
    101,
    30_000,
  ],
  [
    'tokens',
    5000,
    (count) => `{ workspaces(filter: { statuses: [${'RUNNING '.repeat(count - 16)}] }) { totalCount } }`,
    5001,
  ],
  ['operations', 50, (count) => repeat(count, (i) => `query Q${i} { __typename }`), 51],
  [
    'fragments',
    50,
    (count) =>
      `{ workspaces { ${repeat(count, (i) => `...F${i}`)} } } ${repeat(count, (i) => `fragment F${i} on WorkspaceConnection { totalCount }`)}`,
    51,
    300,
  ],
  [
    'levels of fields',
    16,
    (count) => `{ __schema { types { ${'ofType { '.repeat(count - 3)} name ${'} '.repeat(count - 3)} } } }`,
    17,
    90,
  ],
  [
    'root fields in an operation',
    20,
    (count) => `{ ${repeat(count, (i) => `a${i}: __typename`)} }`,
    21,
    1000,
  ],
  [
    'aliases',
    50,
    (count) => `{ workspaces(first: 1) { ${repeat(count, (i) => `a${i}: totalCount`)} } }`,
    51,
    1000,
  ],
  [
    'directives',
    50,
    (count) =>
      `{ workspaces(first: 1) { ${repeat(count, (i) => `...F @${i % 2 ? 'skip(if: false)' : 'include(if: true)'}`)} } } fragment F on WorkspaceConnection { totalCount }`,
    51,
  ],
  ['cost', 25_000, (count) => makeCostly(count - ((count - 1) % 10)), 25_001],
];

const badRequest = (message: string) => [{ message, extensions: { code: 'BAD_REQUEST' } }];

test.each(sizes)(
  'a document may have %s up to %i; the error of others names the number',
  async (name, max, make, ...tooMany) => {
    expect((await alice.graphql(make(max))).text).not.toContain('exceeds the limit');
    for (const found of tooMany) {
      const { status, text, errors } = await alice.graphql(make(found));
      expect([status, text]).toEqual([400, expect.not.stringContaining('"data"')]);
      const message = `The document exceeds the limit for ${name}: ${found}, maximum ${max}.`;
      expect(errors).toEqual(badRequest(message));
    }
  },
);

const payloads = (fields: string) =>
  ['TaskFailed', 'TaskResponseReady']
    .map((kind) => `... on ${kind}Notification { payload { ${fields} } }`)
    .join(' ');
const ofPage = (first: number | string, fields: string) =>
  `notifications(first: ${first}) { nodes { ... on UserNotification { id } ${fields} } }`;

const records = '{ nodes { id projectId status hardware { cpus } } }';

test.each<[what: string, document: string, cost: number]>([
  ['a literal page size', `{ workspaces(first: 3) ${records} }`, 3 * 6 + 1],
  ['a page size given by `last`', `{ workspaces(last: 3) ${records} }`, 3 * 6 + 1],
  ['the default page size', `{ workspaces ${records} }`, 50 * 6 + 1],
  ['the maximum for a variable', `query ($n: Int) { workspaces(first: $n) ${records} }`, 100 * 6 + 1],
  // The least and the most that a page size counts as.
  ...Object.entries({ null: 100, 999999: 100, ['9'.repeat(400)]: 100, 0: 1, '-99999': 1 }).map(
    ([first, size]): [string, string, number] => [
      `${size} records for a page size of ${first}`,
      `{ workspaces(first: ${first}) ${records} }`,
      size * 6 + 1,
    ],
  ),
  ['the larger of `first` and `last`', `{ workspaces(first: 2, last: 5) ${records} }`, 5 * 6 + 1],
  [
    'the fields of a named fragment',
    `{ workspaces(first: 3) { ...F } } fragment F on WorkspaceConnection ${records}`,
    3 * 6 + 1,
  ],
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
  // Adds a field whose cost is known and exceeds the limit.
  const filler = ` a: ${makeCostly(25_001).slice(1, -1)} `;
  const { errors } = await alice.graphql(document.replace(/\}( fragment|$)/, `${filler} }$1`));

  const found = Math.ceil(25_001 + cost);
  expect(errors[0].message).toBe(`The document exceeds the limit for cost: ${found}, maximum 25000.`);
});

const fieldsOfTypes = '{ types { name fields { name type { name ofType { name } } } } }';
const descriptions = (list: string) => repeat(40, (i) => `a${i}: ${list} { name description }`);

test.each([
  '{ __schema { queryType { name } } ...F } fragment F on Query { __type(name: "Query") { name } }',
  `{ __schema ${fieldsOfTypes} }`,
  getIntrospectionQuery({ typeDepth: 7 }).replace('IntrospectionQuery', 'OfAnotherTool'),
])('accepts introspection of a moderate cost: %s', async (query) => {
  expect(await alice.run(query)).not.toBeNull();
});

test.each([
  `{ __schema { ${repeat(20, (i) => `a${i}: types { name description fields { name description } }`)} } }`,
  `{ __schema { queryType { fields { type { ofType { ${descriptions('fields')} } } } } } }`,
  `{ __schema { types { possibleTypes { ${descriptions('fields')} } } } }`,
  `{ __schema { types { ...A } } } fragment A on __Type { ${descriptions('fields')} }`,
])("the cost of introspection includes the lengths of the schema's lists: %s", async (query) => {
  const { status, errors } = await alice.graphql(query);

  expect(status).toBe(400);
  expect(errors[0].message).toMatch(/^The document exceeds the limit for cost: \d+, maximum 25000\.$/);
});

test.each([
  ['with an alias', '{ a: __schema { queryType { name } } }'],
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
])('rejects introspection %s', async (_what, query) => {
  const operationName = query.startsWith('query A') ? 'A' : undefined;
  const token = await member('alice');
  const { status, errors } = await sendParameters(gateway, { query, operationName }, { token });

  const message =
    'A document may contain `__schema` and `__type` once each, without an alias and not beside other root fields.';
  expect([status, errors]).toEqual([400, badRequest(message)]);
});

/** Builds a chain of fragments, each of which contains the next one `spreads` times. */
const chain = (length: number, spreads: number, innermost: string) =>
  `${repeat(length, (i) => `fragment F${i} on Query { ${`...F${i + 1} `.repeat(spreads)} }`)} fragment F${length} on Query { ${innermost} }`;

const abuse: [what: string, query: string, message: RegExp][] = [
  [
    'expands fragments exponentially',
    `{ ...F0 } ${chain(20, 2, '__typename')}`,
    /root fields in an operation: 1048576, maximum 20/,
  ],
  [
    'expands fragments beyond any number',
    `{ ...F0 } ${chain(40, 4, '__typename')}`,
    /root fields in an operation: more than 9007199254740991, maximum 20/,
  ],
  [
    'hides its depth in fragments',
    `{ __schema { types { ...T0 } } } ${repeat(15, (i) => `fragment T${i} on __Type { ofType { ...T${i + 1} } }`)} fragment T15 on __Type { name }`,
    /levels of fields: 18, maximum 16/,
  ],
  [
    'hides its depth in inline fragments',
    `{ __schema { types { ${'... { ofType { '.repeat(15)} name ${'} } '.repeat(15)} } } }`,
    /levels of fields: 18, maximum 16/,
  ],
  [
    'has a fragment cycle below a field',
    '{ __schema { types { ...A } } } fragment A on __Type { ofType { ...A } }',
    /Cannot spread fragment "A" within itself/,
  ],
  [
    'has an unused fragment cycle',
    '{ __typename } fragment A on Query { ...A }',
    /Cannot spread fragment "A" within itself|never used/,
  ],
  [
    'contains too many aliases through a fragment',
    `{ ${repeat(20, (i) => `a${i}: workspaces(first: 1) { ...A }`)} } fragment A on WorkspaceConnection { ${repeat(9, (i) => `b${i}: totalCount`)} }`,
    /aliases: 200, maximum 50/,
  ],
  [
    'has 600 directives on its operation',
    `query ${'@skip(if: false) '.repeat(600)} { __typename }`,
    /directives: 600, maximum 50/,
  ],
  [
    'has 2000 unknown directives on a variable',
    `query ($a: Int ${'@a '.repeat(2000)}) { workspaces(first: $a) { totalCount } }`,
    /Unknown directive "@a"/,
  ],
  [
    'selects a field thousands of times',
    `{ workspaces(first: 1) { nodes { ${'id '.repeat(4900)} } } }`,
    /aborted/,
  ],
  [
    'nests introspection recursively',
    '{ __schema { queryType { fields { type { fields { type { fields { name } } } } } } } }',
    /introspection depth/,
  ],
  [
    'nests list literals without closing them',
    `{ workspaces(filter: { statuses: ${'['.repeat(60_000)}`,
    /nested brackets: 60003, maximum 100/,
  ],
];

/** Sends a document of alice, and measures its duration and the number of its statements. */
async function measure(query: string, variables = {}) {
  const started = performance.now();
  const replies: GraphQLReply[] = [];
  const statements = await recordStatementsWith('alice', async () => {
    replies.push(await alice.graphql(query, variables));
  });
  const [reply = expect.unreachable()] = replies;
  return { ...reply, statements: statements.length, ms: performance.now() - started };
}

test.each(abuse)(
  'rejects a document that %s, quickly and before running it',
  async (_what, query, message) => {
    const { status, errors, text, statements, ms } = await measure(query);

    expect(status).toBe(400);
    expect(errors[0].message).toMatch(message);
    for (const { extensions } of errors) expect(extensions).toEqual({ code: 'BAD_REQUEST' });
    expect(JSON.parse(text)).not.toHaveProperty('data');
    expect(statements).toBe(0);
    expect(ms).toBeLessThan(2000);
  },
);

describe('a filter has at most 100 values', () => {
  const tooMany = 'must have at most 100 items';

  test.each([
    ['workspaces', 'WorkspaceStatus', 'statuses', 'RUNNING'],
    ['notifications', 'NotificationStatus', 'statuses', 'ACTIVE'],
    ['notifications', 'NotificationKind', 'kinds', 'TASK_FAILED'],
  ])('%s by %s', async (field, type, argument, word) => {
    const query = `query ($words: [${type}!]) { ${field}(filter: { ${argument}: $words }) { totalCount } }`;
    const max = await measure(query, { words: Array(100).fill(word) });
    expect(max.errors).toEqual([]);
    expect(max.statements).toBeGreaterThan(0);
    // Values are not validated one by one.
    for (const words of [Array(101).fill(word), Array(60_000).fill(word), Array(500_000).fill(1)]) {
      const { errors, statements, ms } = await measure(query, { words });
      expect(errors).toHaveLength(1);
      expect(errors[0].extensions).toMatchObject({
        code: 'VALIDATION_FAILED',
        errors: [{ location: `filter.${argument}`, message: tooMany }],
      });
      expect(statements).toBe(0);
      expect(ms).toBeLessThan(2000);
    }
  });

  test('to resolve', async () => {
    const task = { userId: 'alice', taskId: 'task', reason: 'ANSWERED_ELSEWHERE' };
    const resolving = gateway.as(platform).resolve({ ...task, kinds: Array(50_000).fill('TASK_FAILED') });
    await expect(resolving).rejects.toMatchObject(refused('VALIDATION_FAILED', ['input.kinds', tooMany]));
  });

  test('without repetitions in a REST path', async () => {
    const { status } = await alice.rest.get(`/user/notifications?${'status=active&'.repeat(900)}`);
    expect(status).toBe(200);
  });
});
