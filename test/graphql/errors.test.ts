import { expect, test } from 'vitest';
import { createItemSerializer } from '../../src/errors/error-items.ts';
import { sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { payloads } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway();
const limited = useGateway({ RATE_LIMIT_PLATFORM_PER_MINUTE: '1' }, gateway);
const { as } = gateway;

test.each([
  ['cannot be parsed', '{ workspaces {'],
  ['contains no operation', 'fragment A on Query { __typename }'],
  ['selects an unknown field', '{ unknown }'],
  ['contains a literal of the wrong type', '{ workspaces(first: "ten") { totalCount } }'],
  ...['$a: DateTime = "today"', '$a: Secret = 5', '$a: EmailAddress = [SECRET]', '$a: URL = 5'].map(
    (variable): [string, string] => [`declares ${variable}`, `query (${variable}) { __typename }`],
  ),
  [
    'contains a credential of the wrong type',
    'mutation { storeEditorSubscription(input: { accessToken: 5, refreshToken: SECRET }) { __typename } }',
  ],
  ['contains an unknown enum value', '{ workspaces(filter: { statuses: [BROKEN] }) { totalCount } }'],
  ['declares a variable of the wrong type', 'query ($a: String) { workspaces(first: $a) { totalCount } }'],
  ['is nested too deeply', `${'{a'.repeat(20_000)}${'}'.repeat(20_000)}`],
  ['subscribes to no field of the schema', 'subscription { __typename }'],
])('returns BAD_REQUEST without data for a document that %s', async (_what, query) => {
  const { status, text, errors } = await as('alice').graphql(query);

  expect(status).toBe(400);
  expect(errors.length).toBeGreaterThan(0);
  for (const { extensions } of errors) expect(extensions).toEqual({ code: 'BAD_REQUEST' });
  expect(text).not.toMatch(/SECRET/);
  expect(JSON.parse(text)).not.toHaveProperty('data');
});

test.each(['constructor', 'toString', '__proto__'])(
  'rejects a name of Object.prototype in any position of a document: %s',
  async (name) => {
    const documents = [
      `{ unknown { ${name} { ${name} } } }`,
      `{ notification(id: "a") { ${name} } }`,
      `{ workspaces(${name}: 1) { totalCount } }`,
      `{ workspaces(filter: { statuses: ${name} }) { totalCount } }`,
      `{ workspaces @${name} { totalCount } }`,
      `{ ...${name} ... on ${name} { ${name} } }`,
      `{ ...A } fragment A on ${name} { ${name} }`,
      `query ($a: ${name}) { workspaces(first: $a) { totalCount } }`,
      `mutation { dismissNotification(input: { id: "a", ${name}: 1 }) { __typename } }`,
    ];
    for (const document of documents) {
      const { status, errors } = await as('alice').graphql(document);
      expect([status, errors[0].extensions.code], document).toEqual([400, 'BAD_REQUEST']);
    }
    const variable = `query ($${name}: Int) { workspaces(first: $${name}) { totalCount } }`;
    expect(await as('alice').run(variable)).toEqual({ workspaces: { totalCount: 0 } });
  },
);

type Item = [location: string, message: string, value: unknown];

const update =
  'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';

test.each<[what: string, query: string, variables: Record<string, unknown>, ...items: Item[]]>([
  ['is missing', update, {}, ['input', 'is required', null]],
  ['is null', update, { input: null }, ['input', 'must not be null', null]],
  ['is not an object', update, { input: [] }, ['input', 'must be an object', []]],
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
    ['input.preferences[0].emailEnabled', 'must be a boolean', 'yes'],
    [
      'input.preferences[0].notificationKind',
      'must be one of PLAN_REQUESTED, QUESTION_REQUESTED, TASK_FAILED, TASK_RESPONSE_READY',
      'OTHER',
    ],
    ['input.preferences[1].smsEnabled', 'is not a known field; the nearest is pushEnabled', 1],
    ['input.more', 'is not a known field', {}],
  ],
  [
    'lacks a nested field, or has null there',
    `mutation ($a: DismissNotificationInput!, $b: DismissNotificationInput!) {
      a: dismissNotification(input: $a) { __typename } b: dismissNotification(input: $b) { __typename } }`,
    { a: {}, b: { id: null } },
    ['input.id', 'is required', null],
    ['input.id', 'must not be null', null],
  ],
  [
    'is not an integer, together with another one of the wrong type',
    'query ($n: Int, $p: ID!) { workspaces(first: $n, filter: { projectIds: [$p] }) { totalCount } }',
    { n: 1.5, p: true },
    ['first', 'must be a 32-bit whole number', 1.5],
    ['filter.projectIds[0]', 'must be a string', true],
  ],
  [
    'is used inside a literal, and is not a number',
    `mutation ($t: Float) { registerPushSubscription(input: {
      endpoint: "", keys: { p256dh: "", auth: "" }, expirationTime: $t }) { __typename } }`,
    { t: 'soon' },
    ['input.expirationTime', 'must be a number', 'soon'],
  ],
])(
  'returns VALIDATION_FAILED at the argument for a variable that %s',
  async (_what, query, variables, ...items) => {
    const { status, text, errors } = await as('alice').graphql(query, variables);

    expect(status).toBe(400);
    expect(JSON.parse(text)).not.toHaveProperty('data');
    expect(errors.map(({ extensions }) => extensions)).toEqual([
      {
        code: 'VALIDATION_FAILED',
        errors: items.map(([location, message, value]) => ({ location, message, value })),
      },
    ]);
  },
);

test('says what is wrong with a literal of a @oneOf input', async () => {
  const { errors } = await as('alice').graphql(
    'mutation { restoreNotifications(input: {}) { restoredCount } }',
  );
  expect(errors.map((error) => error.message)).toEqual([
    'OneOf Input Object "RestoreNotificationsInput" must specify exactly one key.',
  ]);
});

test('names what is missing in JSON that has a schema', async () => {
  const { errors } = await as(platform).graphql(publishPlan, { plan: { toolId: 't', input: {} } });
  expect(errors.map((error) => error.message)).toEqual([
    'Invalid request: input.payload.planRequested.input.summary is required (and 1 more).',
  ]);
});

test('names a field that is misspelled and the nearest one, but no other that is unknown', async () => {
  const messages = async (name: string) => {
    const query = 'query ($filter: NotificationFilter) { notifications(filter: $filter) { totalCount } }';
    const overVariable = await as('alice').graphql(query, { filter: { [name]: 1 } });
    const literal = await as('alice').graphql(`{ notifications(filter: { ${name}: 1 }) { totalCount } }`);
    return [overVariable, literal].flatMap(({ errors }) => errors.map((error) => error.message));
  };
  expect(await messages('kind')).toEqual([
    'Invalid request: filter.kind is not a known field; the nearest is kinds.',
    'The input type "NotificationFilter" has no field "kind". Did you mean "kinds"?',
  ]);
  expect(await messages('sk_live_4eC39HqLyjW')).toEqual([
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
  const { errors } = await sendParameters(gateway, parameters, { token: await member('alice') });

  expect(errors.map(({ extensions }) => extensions.errors)).toEqual([
    [{ location: 'first', message: 'must be a 32-bit whole number', value: 'ten' }],
  ]);
});

const input = 'userId: "alice", title: "", task: { id: "t", projectId: "p" }';
const publishPayload = `mutation ($payload: NotificationPayloadInput!) {
  publishNotification(input: { ${input}, payload: $payload }) { __typename } }`;
const publishPlan = `mutation ($plan: PlanRequestedInput) {
  publishNotification(input: { ${input}, payload: { planRequested: $plan } }) { __typename } }`;

test.each<[what: string, query: string, variables: Record<string, unknown>]>([
  ['two members', publishPayload, { payload: { ...payloads.task_failed, ...payloads.task_response_ready } }],
  ['no members', publishPayload, { payload: {} }],
  ['a null member', publishPayload, { payload: { taskFailed: null } }],
  [
    'a member and a null member',
    publishPayload,
    { payload: { ...payloads.task_failed, planRequested: null } },
  ],
  ['a nullable variable set to null', publishPlan, { plan: null }],
  ['an omitted nullable variable', publishPlan, {}],
])('rejects a @oneOf input with %s', async (_what, query, variables) => {
  const { data, errors } = await as(platform).graphql(query, variables);

  expect(data?.publishNotification ?? null).toBeNull();
  expect(errors).toHaveLength(1);
  expect(['VALIDATION_FAILED', 'BAD_REQUEST']).toContain(errors[0].extensions.code);
});

test.each<[args: string, location: string, message: string, value: unknown]>([
  ['first: 0', 'first', 'must be a whole number from 1 to 100', 0],
  ['last: 101', 'last', 'must be a whole number from 1 to 100', 101],
  ['first: 1, last: 2', 'last', 'must not be combined with first', 2],
  ['after: ""', 'after', 'must be a cursor of this list', ''],
  ['before: "WzEsMl0"', 'before', 'must be a cursor of this list', 'WzEsMl0'],
])('rejects the page arguments %s on both lists of a user', async (args, location, message, value) => {
  const { status, data, errors } = await as('alice').graphql(
    `{ workspaces(${args}) { totalCount } notifications(${args}) { totalCount } }`,
  );

  expect([status, data]).toEqual([200, { workspaces: null, notifications: null }]);
  expect(errors.map(({ path }) => path)).toEqual([['workspaces'], ['notifications']]);
  for (const { extensions } of errors) {
    expect(extensions).toEqual({ code: 'VALIDATION_FAILED', errors: [{ location, message, value }] });
  }
});

test('rejects null for a variable with a default value, without repeating literals', async () => {
  const store = `mutation ($value: Secret = "d") {
    storeEditorSubscription(input: { accessToken: $value, refreshToken: "LITERAL" }) { __typename } }`;
  const read = 'query ($value: ID = "a") { notification(id: $value) { __typename } }';
  for (const [query, location, message] of [
    [store, 'input', 'is not valid'],
    [read, 'id', 'must not be null'],
  ] as const) {
    const { status, text, data, errors } = await as('alice').graphql(query, { value: null });
    expect([status, Object.values(data)]).toEqual([200, [null]]);
    expect(errors.map(({ extensions }) => extensions)).toEqual([
      { code: 'VALIDATION_FAILED', errors: [{ location, message, value: null }] },
    ]);
    expect(text).not.toContain('LITERAL');
  }
});

const codesByPath = (errors: { path: string[]; extensions: { code: string } }[]) =>
  Object.fromEntries(errors.map(({ path, extensions }) => [path.join('.'), extensions.code]));

test('every failing root field has one error, and the others return their data', async () => {
  const { status, data, errors } = await as('alice').graphql(
    `{
      good: workspaces { totalCount }
      unknown: notification(id: "unknown") { __typename }
      empty: notification(id: "") { __typename }
      forbidden: platform { __typename }
      ...A
    }
    fragment A on Query { ... on Query { spread: platform { __typename } } }`,
  );

  expect(status).toBe(200);
  expect(data).toEqual({
    good: { totalCount: 0 },
    unknown: null,
    empty: null,
    forbidden: null,
    spread: null,
  });
  expect(errors).toHaveLength(4);
  expect(codesByPath(errors)).toEqual({
    unknown: 'NOT_FOUND',
    empty: 'VALIDATION_FAILED',
    forbidden: 'FORBIDDEN',
    spread: 'FORBIDDEN',
  });
});

test('returns 200 with data even if every root field fails', async () => {
  for (const Accept of ['application/json', 'application/graphql-response+json']) {
    const query = '{ a: notification(id: "a") { __typename } b: notification(id: "b") { __typename } }';
    const { status, data, errors } = await as('alice').graphql(query, {}, { headers: { Accept } });
    expect([status, data]).toEqual([200, { a: null, b: null }]);
    expect(codesByPath(errors)).toEqual({ a: 'NOT_FOUND', b: 'NOT_FOUND' });
  }
});

test('returns 200 if one field is refused by the rate limit and another one is null', async () => {
  const { status, data, errors } = await limited
    .as(platform)
    .graphql('{ unknown: user(id: "nobody") { __typename } refused: user(id: "nobody") { __typename } }');
  expect([status, data]).toEqual([200, { unknown: null, refused: null }]);
  expect(codesByPath(errors)).toEqual({ refused: 'RATE_LIMITED' });
});

test('a failing mutation does not prevent the next one', async () => {
  const { data, errors } = await as('alice').graphql(`mutation {
    first: dismissNotification(input: { id: "unknown" }) { __typename }
    second: updateNotificationPreferences(input: { preferences: [] }) { preferences { notificationKind } }
  }`);

  expect(data).toMatchObject({ first: null, second: { preferences: Array(4).fill({}) } });
  expect(codesByPath(errors)).toEqual({ first: 'NOT_FOUND' });
});

/** Text whose JSON has this many bytes. */
const textOf = (bytes: number) => 'x'.repeat(bytes - 2);

test.each<[what: string, value: unknown, shown: unknown]>([
  ['a value of 1 KiB', textOf(1024), textOf(1024)],
  ['a larger value', textOf(1025), '[string of 1023 characters]'],
  ['a list of 1 KiB', [textOf(1022)], [textOf(1022)]],
  ['a larger list', [textOf(1023)], '[array of 1 items]'],
])('an item shows %s', (_what, value, shown) => {
  expect(createItemSerializer()({ issues: [{ path: ['a'], message: 'm', value }] })).toMatchObject([
    { value: shown },
  ]);
});

test('an item shows the members of up to 32 KiB of a value that the gateway made', () => {
  const value = { fits: textOf(32_768), large: textOf(32_769) };
  expect(
    createItemSerializer()({ issues: [{ path: ['a'], message: 'm', value, isOwn: true }] }),
  ).toMatchObject([{ value: { fits: textOf(32_768), large: '[string of 32767 characters]' } }]);
});

test('the items of a reply have up to 120 KiB together', () => {
  const frame = JSON.stringify({ location: 'a', message: '', value: null }).length;
  const issueOf = (path: string, bytes: number) => ({
    path: [path],
    message: 'x'.repeat(bytes - frame),
    value: null,
  });
  const shown = (bytes: number) => {
    const issues = [issueOf('a', bytes), issueOf('b', 122_880 - 100_000), issueOf('c', frame)];
    return createItemSerializer()({ issues }).map(({ location }) => location);
  };
  expect([shown(100_000), shown(100_001)]).toEqual([
    ['a', 'b'],
    ['a', 'c'],
  ]);
});
