import { readFileSync } from 'node:fs';
import { executeSync, getIntrospectionQuery, parse, print, stripIgnoredCharacters } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createIntrospectionReplies } from '../../src/graphql/introspection-replies.ts';
import { schema } from '../../src/schema.ts';
import { graphql, sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway({ GRAPHIQL: 'true', RATE_LIMIT_READS_PER_MINUTE: '1' });
const withoutGraphiql = useGateway();

test.each([
  '{ __schema { queryType { name } } }',
  '{ __typename }',
  'mutation { __typename }',
  '{ ...A ... on Query { b: __typename } } fragment A on Query { a: __typename }',
])('introspection requires no token and is not limited while GRAPHIQL is on: %s', async (query) => {
  const { status, headers, data, errors } = await graphql(gateway, query);

  expect([status, errors, headers.get('ratelimit-limit')]).toEqual([200, [], null]);
  expect(data).not.toBeNull();
});

test.each([
  '{ workspaces { totalCount } }',
  '{ __schema: workspaces { totalCount } }',
  '{ ...A } fragment A on Query { workspaces { totalCount } }',
  '{ __typename workspaces @skip(if: true) { totalCount } }',
  'query A { __typename } query B { workspaces { totalCount } }',
  '{ __typename unknown }',
  'mutation { deleteEditorAuth { __typename } }',
  'subscription { notificationEvents { cursor } }',
  'subscription { __typename: editorAuthEvents { editorAuth { needsReauth } } }',
  '{ __typename',
  '',
])('any other root field returns 401 without data if the token is missing: %s', async (query) => {
  const { status, text, headers, errors } = await graphql(gateway, query);

  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
  expect(JSON.parse(text)).not.toHaveProperty('data');
});

test.each(['', 'not json', '[]', '{}', '{"query":7}', 'null'])(
  'a body without a query returns 401: %j',
  async (body) => {
    const headers = { 'Content-Type': 'application/json' };
    const { status } = await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body });
    expect(status).toBe(401);
  },
);

test('an invalid token returns 401 even for introspection', async () => {
  const token = await signToken({ sub: 'alice', aud: 'another-service' });

  const { status, headers } = await graphql(gateway, '{ __typename }', {}, { token });
  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"']);
});

test('while GRAPHIQL is off, introspection requires a token, but no scope', async () => {
  const query = '{ __schema { queryType { name } } }';
  const scopeless = withoutGraphiql.as(() => signToken({ sub: 'alice', scope: '' }));

  expect((await graphql(withoutGraphiql, query)).status).toBe(401);
  expect(await scopeless.run(query)).toEqual({ __schema: { queryType: { name: 'Query' } } });
});

/** The options of graphql-js's query, besides the depth of types. */
const optionNames = [
  'descriptions',
  'specifiedByUrl',
  'directiveIsRepeatable',
  'schemaDescription',
  'inputValueDeprecation',
  'experimentalDirectiveDeprecation',
  'oneOf',
] as const;
const allOptions = Array.from({ length: 2 ** optionNames.length }, (_none, bits) =>
  Object.fromEntries(optionNames.map((name, index) => [name, (bits & (1 << index)) !== 0])),
);
/** The options of tools: none or all, and the least and the greatest depth of types. */
const usedOptions = [{}, allOptions.at(-1), { typeDepth: 7 }, { typeDepth: 12 }];

/** The forms in which tools send the query of graphql-js: also as earlier versions and graphql-core write it. */
const forms: ((query: string) => string)[] = [
  (query) => query,
  (query) => print(parse(query)),
  stripIgnoredCharacters,
  (query) =>
    query.replaceAll('name kind }', 'name }').replaceAll(/ofType \{\s+name\s+kind/g, 'ofType { kind name'),
  (query) => query.replaceAll(/ofType \{\s+name\s+kind/g, 'ofType { kind name'),
];
/** Queries that other tools send, by tool, without insignificant characters. */
const toolQueries: Record<string, string> = JSON.parse(
  readFileSync(new URL('introspection-queries.json', import.meta.url), 'utf8'),
);

/** Whether a reply is that of the schema, which has some types in another order than the gateway's. */
const isReplyOf = (query: string, reply: string) =>
  sortTypes(reply) === sortTypes(JSON.stringify(executeSync({ schema, document: parse(query) })));

function sortTypes(reply: string): string {
  const { data } = JSON.parse(reply);
  data.__schema?.types.sort((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1));
  return JSON.stringify(data);
}

/** Returns a text that no other call returns. */
let count = 0;
const newDocument = () => {
  count += 1;
  return `{ __type(name: "T${count}") { name } }`;
};

describe('when callers without a token have sent 30 documents within a minute', () => {
  const limited = useGateway({ GRAPHIQL: 'true' });
  const kept = newDocument();

  test('new ones return 429 with Retry-After, also if they are invalid', async () => {
    const statuses = [];
    for (const query of [
      kept,
      '{ __schema',
      '{ __typename unknown }',
      ...Array.from({ length: 27 }, newDocument),
    ])
      statuses.push((await graphql(limited, query)).status);
    expect(statuses).toEqual([200, 401, 401, ...Array(27).fill(200)]);

    for (const query of [newDocument(), '{ __schema']) {
      const { status, errors, headers } = await graphql(limited, query);
      expect([status, errors[0].extensions.code]).toEqual([429, 'RATE_LIMITED']);
      expect(headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    }
  });

  test('a document whose reply was kept is served', async () => {
    expect((await graphql(limited, kept)).text).toBe('{"data":{"__type":null}}');
    expect((await graphql(limited, ` ${kept}`)).status).toBe(429);
  });

  test.each([
    '# Titles\n{ all: notifications(first: 2) { nodes { __typename } } }',
    'query Q($first: Int = 2) { workspaces(first: $first) { nodes { __typename } } }',
    'mutation { deleteEditorAuth { __typename } }',
    'subscription Live { accountEvents { __typename } }',
  ])('the operation of a client that forgot its token still returns 401: %s', async (query) => {
    expect((await graphql(limited, query)).status).toBe(401);
  });

  test.each([
    ...Object.entries(toolQueries),
    ...usedOptions.flatMap((options) =>
      forms.map((change, form) => [
        `graphql-js with ${JSON.stringify(options)}, form ${form}`,
        change(getIntrospectionQuery(options)),
      ]),
    ),
  ])('the introspection query of a tool is served: %s', async (_name, query) => {
    const { status, text } = await graphql(limited, query);
    expect([status, isReplyOf(query, text)]).toEqual([200, true]);
  });

  test('the operation name of a standard query is checked', async () => {
    const query = getIntrospectionQuery();
    const send = (operationName: string) => sendParameters(limited, { query, operationName }, {});

    expect((await send('IntrospectionQuery')).status).toBe(200);
    expect((await send('Other')).status).toBe(429);
  });
});

const isRecognized = (query: string) =>
  createIntrospectionReplies(schema).find(query, undefined) !== undefined;

test('recognizes the query of graphql-js with every combination of its options', () => {
  expect(allOptions.filter((options) => !isRecognized(getIntrospectionQuery(options)))).toEqual([]);
});

test.each([
  ['glued names', (query: string) => query.replace(/kind\s+name/, 'kindname')],
  ['an alias', (query: string) => query.replace('types {', 'all: types {')],
  ['a second list', (query: string) => query.replace('types {', 'types { name } types {')],
  ['a missing bracket', (query: string) => query.trimEnd().slice(0, -1)],
  ['an additional bracket', (query: string) => `${query}}`],
  ['few levels of types', () => getIntrospectionQuery({ typeDepth: 6 })],
])('does not recognize a query with %s', (_what, change) => {
  expect(isRecognized(change(getIntrospectionQuery()))).toBe(false);
});
