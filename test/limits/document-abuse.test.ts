import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { sendAndMeasure } from '../support/statements.ts';

const gateway = useGateway();

const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');

/** Builds a chain of fragments, each of which contains the next one `spreads` times. */
const chain = (length: number, spreads: number, innermost: string) =>
  `${repeat(length, (i) => `fragment F${i} on Query { ${`...F${i + 1} `.repeat(spreads)} }`)} fragment F${length} on Query { ${innermost} }`;

/** Its cost would be offset if a negative page size were allowed to count as a negative cost. */
const costly = repeat(
  19,
  (i) => `b${i}: notifications(first: 100) { nodes { ...N } edges { cursor node { ...N } } }`,
);
const notification = 'fragment N on UserNotification { id title status createdAt updatedAt occurredAt }';

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
    'has a fragment cycle',
    '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }',
    /Cannot spread fragment "A" within itself/,
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
    'contains 1000 aliased root fields',
    `{ ${repeat(1000, (i) => `a${i}: __typename`)} }`,
    /root fields in an operation: 1000, maximum 20/,
  ],
  [
    'contains 1000 aliases below a field',
    `{ workspaces { nodes { ${repeat(1000, (i) => `a${i}: id`)} } } }`,
    /aliases: 1000, maximum 50/,
  ],
  [
    'contains too many aliases through a fragment',
    `{ ${repeat(20, (i) => `a${i}: workspaces(first: 1) { ...A }`)} } fragment A on WorkspaceConnection { ${repeat(9, (i) => `b${i}: totalCount`)} }`,
    /aliases: 200, maximum 50/,
  ],
  [
    'has 600 directives on a field',
    `{ __typename ${'@skip(if: false) '.repeat(600)} }`,
    /directives: 600, maximum 50/,
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
    'selects a field thousands of times in an unused fragment',
    `{ __typename } fragment A on Workspace { ${'id '.repeat(4900)} }`,
    /aborted/,
  ],
  [
    'offsets its cost with a negative page size',
    `{ a: workspaces(first: -100000) { nodes { id } } ${costly} } ${notification}`,
    /cost: \d+, maximum 25000/,
  ],
  [
    'nests introspection recursively',
    '{ __schema { queryType { fields { type { fields { type { fields { name } } } } } } } }',
    /introspection depth/,
  ],
  [
    'nests list literals',
    `{ workspaces(filter: { statuses: ${'['.repeat(1000)}${']'.repeat(1000)} }) { totalCount } }`,
    /nested brackets: 1003, maximum 100/,
  ],
  [
    'nests list literals without closing them',
    `{ workspaces(filter: { statuses: ${'['.repeat(60_000)}`,
    /nested brackets: 60003, maximum 100/,
  ],
  [
    'nests inline fragments without closing them',
    `${'{...'.repeat(16_000)}`,
    /nested brackets: 16000, maximum 100/,
  ],
  [
    'declares a thousand unused variables',
    `query (${repeat(1000, (i) => `$v${i}: Int`)}) { __typename }`,
    /never used/,
  ],
];

const send = (query: string, variables = {}) => sendAndMeasure(gateway, 'alice', query, variables);

test.each(abuse)(
  'rejects a document that %s, quickly and before running it',
  async (_what, query, message) => {
    const { reply, statements, ms } = await send(query);

    expect(reply.status).toBe(400);
    expect(reply.errors[0].message).toMatch(message);
    for (const { extensions } of reply.errors) expect(extensions).toEqual({ code: 'BAD_REQUEST' });
    expect(JSON.parse(reply.text)).not.toHaveProperty('data');
    expect(statements).toBe(0);
    expect(ms).toBeLessThan(2000);
  },
);
