import { beforeAll, expect, test } from 'vitest';
import { formatLocation } from '../../src/errors/issue.ts';
import { graphql, sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { payloads } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const send = (query: string, variables: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  graphql(gateway, query, variables, { token, headers });

/** Documents that are rejected before execution. */
const invalidDocuments: [what: string, query: string][] = [
  ['cannot be parsed', '{ workspaces {'],
  ['is empty', ''],
  ['contains no operation', 'fragment A on Query { __typename }'],
  ['selects an unknown field', '{ unknown }'],
  ['selects no field of an object', '{ workspaces }'],
  ['uses an unknown argument', '{ workspaces(page: 1) { totalCount } }'],
  ['omits a required argument', '{ notification { __typename } }'],
  ['contains a literal of the wrong type', '{ workspaces(first: "ten") { totalCount } }'],
  ...['$a: DateTime = "today"', '$a: Secret = 5', '$a: EmailAddress = [SECRET]', '$a: URL = 5'].map(
    (variable): [string, string] => [`declares ${variable}`, `query (${variable}) { __typename }`],
  ),
  [
    'contains a credential of the wrong type',
    'mutation { storeEditorSubscription(input: { accessToken: 5, refreshToken: SECRET }) { __typename } }',
  ],
  ['contains an unknown enum value', '{ workspaces(filter: { statuses: [BROKEN] }) { totalCount } }'],
  ['uses an undeclared variable', '{ workspaces(first: $first) { totalCount } }'],
  ['declares a variable of the wrong type', 'query ($a: String) { workspaces(first: $a) { totalCount } }'],
  ['has a fragment cycle', '{ ...A } fragment A on Query { ...A }'],
  [
    'uses an unknown input field',
    'mutation { dismissNotification(input: { id: "a", b: 1 }) { __typename } }',
  ],
  ['is nested too deeply', `${'{a'.repeat(20_000)}${'}'.repeat(20_000)}`],
  ['uses an unknown directive', '{ __typename @unknown }'],
  ['subscribes to no field of the schema', 'subscription { __typename }'],
];

test.each(invalidDocuments)(
  'returns BAD_REQUEST without data for a document that %s',
  async (_what, query) => {
    const { status, text, errors } = await send(query);
    const lenient = await send(query, {}, { Accept: 'application/json' });

    expect(status).toBe(400);
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) expect(extensions).toEqual({ code: 'BAD_REQUEST' });
    expect(text).not.toMatch(/SECRET/);
    expect(JSON.parse(text)).not.toHaveProperty('data');
    expect(lenient.status).toBeLessThanOrEqual(400);
    expect(lenient.errors).toEqual(errors);
  },
);

test.each([
  ['application/graphql-response+json', 400],
  ['application/json', 200],
])('replies to an invalid document from a client that accepts %s with status %i', async (Accept, status) => {
  const reply = await send('{ unknown }', {}, { Accept });

  expect(reply.status).toBe(status);
  expect(reply.headers.get('content-type')).toBe(`${Accept}; charset=utf-8`);

  const withVariables = 'query ($n: Int!) { notifications(first: $n) { totalCount } }';
  const invalid = await send(withVariables, { n: 'one' }, { Accept });
  expect([invalid.status, invalid.errors[0].extensions.code]).toEqual([status, 'VALIDATION_FAILED']);
});

test('locations repeat up to 100 characters of a name that the caller chose', () => {
  const name = 'x'.repeat(100);
  expect(formatLocation(['body', name, 1])).toBe(`body.${name}[1]`);
  expect(formatLocation(['body', `${name}x`])).toBe(`body.${name}…`);
});

test.each(['@skip(if: true)', '@include(if: false)'])('supports the directive %s', async (directive) => {
  const { data } = await send(`{ __typename workspaces ${directive} { totalCount } }`);

  expect(data).toEqual({ __typename: 'Query' });
});

type Items = [location: string, message: string, value: unknown][];

const update =
  'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';

const invalidVariables: [what: string, query: string, variables: Record<string, unknown>, items: Items][] = [
  ['is missing', update, {}, [['input', 'is required', null]]],
  ['is null', update, { input: null }, [['input', 'must not be null', null]]],
  ['is not an object', update, { input: [] }, [['input', 'must be an object', []]]],
  [
    'contains errors of every kind',
    update,
    {
      input: {
        preferences: [
          { emailEnabled: 'yes', pushEnabled: true, notificationKind: 'OTHER' },
          { emailEnabled: true, pushEnabled: true, chatDmEnabled: null, smsEnabled: 1 },
        ],
        more: {},
      },
    },
    [
      ['input.preferences[0].emailEnabled', 'must be a boolean', 'yes'],
      [
        'input.preferences[0].notificationKind',
        'must be one of PLAN_REQUESTED, QUESTION_REQUESTED, TASK_FAILED, TASK_RESPONSE_READY',
        'OTHER',
      ],
      ['input.preferences[1].smsEnabled', 'is not a known field; the nearest is pushEnabled', 1],
      ['input.more', 'is not a known field', {}],
    ],
  ],
  [
    'lacks a nested field, or has null there',
    'mutation ($a: DismissNotificationInput!, $b: DismissNotificationInput!) { a: dismissNotification(input: $a) { __typename } b: dismissNotification(input: $b) { __typename } }',
    { a: {}, b: { id: null } },
    [
      ['input.id', 'is required', null],
      ['input.id', 'must not be null', null],
    ],
  ],
  [
    'is not an integer, together with another one of the wrong type',
    'query ($n: Int, $p: ID!) { workspaces(first: $n, filter: { projectIds: [$p] }) { totalCount } }',
    { n: 1.5, p: true },
    [
      ['first', 'must be a 32-bit whole number', 1.5],
      ['filter.projectIds[0]', 'must be a string', true],
    ],
  ],
  [
    'is used inside a literal',
    'mutation ($b: Boolean!) { updateNotificationPreferences(input: { preferences: [{ emailEnabled: true, pushEnabled: $b, chatDmEnabled: true }] }) { __typename } }',
    { b: 0 },
    [['input.preferences[0].pushEnabled', 'must be a boolean', 0]],
  ],
  [
    'is not a number',
    'mutation ($t: Float) { registerPushSubscription(input: { endpoint: "", keys: { p256dh: "", auth: "" }, expirationTime: $t }) { __typename } }',
    { t: 'soon' },
    [['input.expirationTime', 'must be a number', 'soon']],
  ],
];

test.each(invalidVariables)(
  'returns VALIDATION_FAILED at the argument for a variable that %s',
  async (_what, query, variables, items) => {
    const { status, text, errors } = await send(query, variables);

    expect(status).toBe(400);
    expect(JSON.parse(text)).not.toHaveProperty('data');
    expect(errors).toHaveLength(1);
    expect(errors[0].extensions).toEqual({
      code: 'VALIDATION_FAILED',
      errors: items.map(([location, message, value]) => ({ location, message, value })),
    });
  },
);

test('names a field that is misspelled and the nearest one, but no other that is unknown', async () => {
  const message = async (filter: string, variables: object) => {
    const query = 'query ($filter: NotificationFilter) { notifications(filter: $filter) { totalCount } }';
    const literal = `{ notifications(filter: { ${filter} }) { totalCount } }`;
    const replies = [await send(query, { filter: variables }), await send(literal)];
    return replies.flatMap(({ errors }) => errors.map((error) => error.message));
  };
  expect(await message('kind: [TASK_FAILED]', { kind: ['TASK_FAILED'] })).toEqual([
    'Invalid request: filter.kind is not a known field; the nearest is kinds.',
    'The input type "NotificationFilter" has no field "kind". Did you mean "kinds"?',
  ]);
  expect(await message('sk_live_4eC39HqLyjW: 1', { sk_live_4eC39HqLyjW: 1 })).toEqual([
    'Invalid request: a part of filter is not a known field.',
    'The input type "NotificationFilter" has no such field.',
  ]);
});

test('locates an invalid variable where its own operation uses it', async () => {
  const query = `
    query A($value: [NotificationStatus!]) { notifications(filter: { statuses: $value }) { totalCount } }
    query B($value: Int) { ...F }
    fragment F on Query { workspaces(first: $value) { totalCount } }`;

  const parameters = { query, operationName: 'B', variables: { value: 'ten' } };
  const { errors } = await sendParameters(gateway, parameters, { token });

  expect(errors).toHaveLength(1);
  expect(errors[0].extensions.errors).toEqual([
    { location: 'first', message: 'must be a 32-bit whole number', value: 'ten' },
  ]);
});

test.each<[message: string, parameters: Record<string, unknown>]>([
  ['parameters.query is required', {}],
  ['parameters.query must be a string', { query: [] }],
  ['parameters.operationName must be a string', { query: '{ __typename }', operationName: 1 }],
  ['parameters.variables must be an object', { query: '{ __typename }', variables: [] }],
  ['parameters.extensions must be an object', { query: '{ __typename }', extensions: 'none' }],
])('reports that %s', async (message, parameters) => {
  const { errors } = await sendParameters(gateway, parameters, { token });

  expect(errors.map((error) => error.message)).toEqual([`Invalid request: ${message}.`]);
});

const publish =
  'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { __typename } }';
const publishLiteral = `mutation ($plan: PlanRequestedInput) {
  publishNotification(input: {
    userId: "alice", title: "", task: { id: "t", projectId: "p" }, payload: { planRequested: $plan }
  }) { __typename }
}`;
const notification = { userId: 'alice', title: '', task: { id: 't', projectId: 'p' } };

test.each<[what: string, query: string, variables: Record<string, unknown>]>([
  [
    'two members',
    publish,
    { input: { ...notification, payload: { ...payloads.task_failed, ...payloads.task_response_ready } } },
  ],
  ['no members', publish, { input: { ...notification, payload: {} } }],
  ['a null member', publish, { input: { ...notification, payload: { taskFailed: null } } }],
  [
    'a member and a null member',
    publish,
    { input: { ...notification, payload: { ...payloads.task_failed, planRequested: null } } },
  ],
  ['a nullable variable set to null', publishLiteral, { plan: null }],
  ['an omitted nullable variable', publishLiteral, {}],
])('rejects a @oneOf input with %s', async (_what, query, variables) => {
  const { data, errors } = await graphql(gateway, query, variables, { token: await platform() });

  expect(data?.publishNotification ?? null).toBeNull();
  expect(errors).toHaveLength(1);
  expect(['VALIDATION_FAILED', 'BAD_REQUEST']).toContain(errors[0].extensions.code);
});

test.each<[args: string, location: string, message: string, value: unknown]>([
  ['first: 0', 'first', 'must be a whole number from 1 to 100', 0],
  ['first: 101', 'first', 'must be a whole number from 1 to 100', 101],
  ['first: -1', 'first', 'must be a whole number from 1 to 100', -1],
  ['last: 0', 'last', 'must be a whole number from 1 to 100', 0],
  ['last: 101', 'last', 'must be a whole number from 1 to 100', 101],
  ['first: 1, last: 2', 'last', 'must not be combined with first', 2],
  ['after: ""', 'after', 'must be a cursor of this list', ''],
  ['after: "nonsense"', 'after', 'must be a cursor of this list', 'nonsense'],
  ['before: "WzEsMl0"', 'before', 'must be a cursor of this list', 'WzEsMl0'],
  ['before: "bnVsbA"', 'before', 'must be a cursor of this list', 'bnVsbA'],
])('rejects the page arguments %s on both lists of a user', async (args, location, message, value) => {
  const { status, data, errors } = await send(
    `{ workspaces(${args}) { totalCount } notifications(${args}) { totalCount } }`,
  );

  expect([status, data]).toEqual([200, { workspaces: null, notifications: null }]);
  expect(errors.map(({ path }) => path)).toEqual([['workspaces'], ['notifications']]);
  for (const { extensions } of errors) {
    expect(extensions).toEqual({ code: 'VALIDATION_FAILED', errors: [{ location, message, value }] });
  }
});

const store = (type: string, given: string) =>
  `mutation ($r: ${type} = "d") { storeEditorSubscription(input: { accessToken: ${given}, refreshToken: "LITERAL" }) { __typename } }`;

test.each<
  [what: string, query: string, variables: Record<string, unknown>, location: string, message: string]
>([
  ['inside a literal', store('Secret', '$r'), { r: null }, 'input', 'is not valid'],
  [
    'as a whole argument',
    'query ($id: ID = "a") { notification(id: $id) { __typename } }',
    { id: null },
    'id',
    'must not be null',
  ],
])(
  'rejects null for a variable with a default value %s, without repeating literals',
  async (_what, query, variables, location, message) => {
    const { status, text, data, errors } = await send(query, variables);

    expect([status, Object.values(data)]).toEqual([200, [null]]);
    expect(errors).toHaveLength(1);
    expect(errors[0].extensions).toEqual({
      code: 'VALIDATION_FAILED',
      errors: [{ location, message, value: null }],
    });
    expect(text).not.toContain('LITERAL');
  },
);

test('stores variables inside a JSON literal, also when the document is repeated', async () => {
  const query = `mutation ($id: ID!, $summary: String!, $tools: [String!]) {
    publishNotification(input: {
      userId: "alice", id: $id, title: "T", task: { id: $id, projectId: "p" }
      payload: { planRequested: { toolId: "t", input: { summary: $summary, plan: "p", allowedTools: $tools } } }
    }) { notification { ... on PlanRequestedNotification { payload { input } } } }
  }`;
  const token = await platform();
  for (let time = 0; time < 15; time += 1) {
    const variables = { id: `json-${time}`, summary: 's', tools: ['edit'] };
    const { data, errors } = await graphql(gateway, query, variables, { token });
    expect(errors).toEqual([]);
    expect(data.publishNotification.notification.payload.input).toEqual({
      summary: 's',
      plan: 'p',
      allowedTools: ['edit'],
    });
  }
});

test('stores variables in a JSON literal under any key, including those of Object.prototype', async () => {
  const query = `mutation ($value: JSON) {
    publishNotification(input: {
      userId: "alice", id: "json-key", title: "T", task: { id: "t", projectId: "p" }
      payload: { planRequested: { toolId: "t", input: { summary: "s", plan: "p", constructor: $value } } }
    }) { notification { ... on PlanRequestedNotification { payload { input } } } }
  }`;
  const { data, errors } = await graphql(gateway, query, { value: 1 }, { token: await platform() });

  expect(errors).toEqual([]);
  expect(data.publishNotification.notification.payload.input).toEqual({
    summary: 's',
    plan: 'p',
    constructor: 1,
  });
});

test('replies to GET requests must not be cached', async () => {
  const query = new URLSearchParams({ query: '{ editorCredential(userId: "alice") { accessToken } }' });
  const response = await fetch(`${gateway.address}/graphql?${query}`, {
    headers: { Authorization: `Bearer ${await platform()}` },
  });

  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
});

test('returns 406 with a body for a subscription that does not accept event streams', async () => {
  const { status, errors } = await send('subscription { editorAuthEvents { editorAuth { needsReauth } } }');

  expect(status).toBe(406);
  expect(errors[0].message).toBe('A subscription requires a request that accepts text/event-stream.');
});
