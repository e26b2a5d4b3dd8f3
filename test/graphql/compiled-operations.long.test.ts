import fc from 'fast-check';
import { parse, validate } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { limitCost } from '../../src/graphql/document-limits.ts';
import { RUNS_BEFORE_COMPILATION } from '../../src/graphql/plugins/compiled-execution.ts';
import { schema } from '../../src/schema.ts';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asPlatform, payloads, publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

/*
 * An operation is interpreted by graphql-js at first, and compiled when it is sent often. The replies must not differ.
 */

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

/** Enough requests to interpret an operation first and then run it compiled twice. */
const TIMES = RUNS_BEFORE_COMPILATION + 2;

/** Sends a document repeatedly and returns the distinct replies. */
async function collectReplies(query: string, variables: Record<string, unknown> = {}) {
  const texts = new Set<string>();
  for (let time = 0; time < TIMES; time += 1) {
    const { status, text } = await graphql(gateway, query, variables, { token });
    texts.add(`${status} ${text}`);
  }
  return [...texts];
}

type Text = fc.Arbitrary<string>;

/** Selections, each with a condition; a response name always stands for the same field. */
const selections = (condition: Text, ...fields: string[]): Text =>
  fc
    .array(fc.tuple(fc.constantFrom(...fields), condition), { minLength: 1, maxLength: 4 })
    .map((chosen) => chosen.map(([field, condition]) => withCondition(field, condition)).join(' '));

/** Inserts a condition after a field or fragment, before its selection. */
function withCondition(field: string, condition: string): string {
  const brace = field.indexOf('{');
  return brace === -1
    ? `${field} ${condition}`
    : `${field.slice(0, brace)}${condition} ${field.slice(brace)}`;
}

const kinds = ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'] as const;
const common = ['id', 'name: title', 'kind', 'status', 'prUrl', 'createdAt', 'resolvedAt', '__typename'];

function unions(condition: Text): Text {
  const some = (...fields: string[]) => selections(condition, ...fields);
  return fc
    .tuple(
      some(...common),
      some('id', 'projectId', 'workspaceId', 'taskName: name'),
      some('tool: toolId', 'summary', 'plan', 'input'),
      some('message', 'taskStatus'),
    )
    .chain(([shared, task, plan, result]) =>
      some(
        '__typename',
        `... on UserNotification { ${shared} }`,
        `... on UserNotification { task { ${task} } }`,
        `... on PlanRequestedNotification { payload { ${plan} } }`,
        `... on TaskFailedNotification { payload { ${result} } failed: title }`,
        '... on QuestionRequestedNotification { payload { input } }',
        '...Named',
      ),
    );
}

function documents(condition: Text, { variables = '', root = '' }): Text {
  const pageInfo = selections(condition, 'hasNextPage', 'endCursor', 'startCursor');
  return fc
    .tuple(unions(condition), unions(condition), selections(condition, ...common), pageInfo, condition)
    .map(
      ([nodes, edges, named, pageInfo, condition]) => `
        query Random($first: Int ${variables}) {
          notifications(first: $first) {
            nodes { ${nodes} } edges { node { ${edges} } cursor } pageInfo { ${pageInfo} } ...Rest
          }
          again: notifications(last: 2) { nodes { ${edges} } }
          ${root}
        }
        fragment Named on UserNotification { ${named} }
        fragment Rest on NotificationConnection { totalCount ${condition} nodes { ...Named ${condition} } }`,
    )
    .filter(isWithinLimits);
}

const plain = documents(fc.constant(''), {});
const conditional = documents(
  fc.constantFrom('', '@include(if: $a)', '@skip(if: $a)', '@include(if: $b) @skip(if: $a)'),
  {
    variables: ', $a: Boolean!, $b: Boolean = true',
    root: '... @include(if: $a) { __typename } ... @include(if: $b) { __typename }',
  },
);

/** Whether a document is within the limits on its cost and on directives, which counts those of a fragment repeatedly. */
function isWithinLimits(document: string): boolean {
  return validate(schema, parse(document), [limitCost]).length === 0;
}

test.each([
  ['without conditions', plain],
  ['with conditions', conditional],
])('repeated requests return the same for any document %s, with any fragments', async (_what, documents) => {
  for (const kind of kinds) await publish(gateway, 'alice', kind);
  await fc.assert(
    fc.asyncProperty(documents, fc.boolean(), fc.boolean(), async (document, a, b) => {
      expect(await collectReplies(document, { a, b, first: 3 })).toEqual([
        expect.stringMatching(/^200 {"data"/),
      ]);
    }),
    { numRuns: 25 },
  );
});

const update = `mutation ($on: Boolean!, $kind: NotificationKind) {
  updateNotificationPreferences(input: { preferences: [
    { notificationKind: $kind, emailEnabled: $on, pushEnabled: true, chatDmEnabled: false }
  ] }) { preferences { notificationKind emailEnabled createdAt } }
}`;
const failures: [what: string, query: string, variables?: Record<string, unknown>][] = [
  ['a record that does not exist', '{ __typename\n  missing: notification(id: "none") { __typename } }'],
  [
    'a record that does not exist, in a document with other line endings',
    '{\r\n__typename\r  notification(id: "none") { __typename } }',
  ],
  [
    'several failures and some data',
    '{ a: notification(id: "1") { __typename } b: editorAuth { type } c: notification(id: "2") { __typename } }',
  ],
  ['an argument that violates a rule', '{ notifications(first: 0) { nodes { __typename } } }'],
  [
    'a variable that violates a rule',
    'query ($id: ID!) { notification(id: $id) { __typename } }',
    { id: '' },
  ],
  [
    'a variable of the wrong type',
    'query ($first: Int) { notifications(first: $first) { totalCount } }',
    { first: 'x' },
  ],
  ['a missing variable', 'query ($id: ID!) { notification(id: $id) { __typename } }'],
  [
    'a variable with a default value',
    'query ($first: Int = 1) { notifications(first: $first) { nodes { __typename } } }',
  ],
  [
    'another user’s records',
    '{ user(id: "bob") { notifications { totalCount } editorAuth { auth { type } } } }',
  ],
  [
    'a mutation whose second field fails',
    `mutation { one: dismissNotifications(input: { ids: [] }) { notifications { __typename } } two: dismissNotification(input: { id: "none" }) { notification { __typename } } }`,
  ],
  [
    'introspection together with a field',
    '{ __schema { queryType { name } } editorAuth { type needsReauth reauthReason } }',
  ],
  ['a repeated change', update, { on: false, kind: 'TASK_FAILED' }],
  ['a change with an omitted variable', update, { on: true }],
];

test.each(failures)('repeated requests return the same for %s', async (_what, query, variables) => {
  expect(await collectReplies(query, variables)).toHaveLength(1);
});

test('a repeated document still requires exactly one member of a @oneOf input', async () => {
  const query = `mutation ($payload: NotificationPayloadInput!) { publishNotification(input: {
    userId: "alice", task: { id: "t", projectId: "p" }, title: "T", payload: $payload
  }) { created } }`;
  for (let time = 0; time < TIMES; time += 1)
    await asPlatform(gateway, query, { payload: payloads.task_failed });
  const both = { ...payloads.task_failed, ...payloads.plan_requested };
  await expect(asPlatform(gateway, query, { payload: both })).rejects.toThrow('exactly one field');
});

test('a repeated document with credentials as literals stores the credentials of each request', async () => {
  const store = (accessToken: string) =>
    `mutation { storeEditorSubscription(input: { accessToken: "${accessToken}", refreshToken: "r" }) { editorAuth { needsReauth } } }`;
  for (const accessToken of [...Array(TIMES).fill('one'), 'two']) {
    const { errors } = await graphql(gateway, store(accessToken), {}, { token });
    expect(errors).toEqual([]);
    const data = await asPlatform(gateway, '{ editorCredential(userId: "alice") { accessToken } }');
    expect(data.editorCredential.accessToken).toBe(accessToken);
  }
});
