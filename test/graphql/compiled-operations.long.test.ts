import fc from 'fast-check';
import { parse, validate } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { isCompilable } from '../../src/graphql/compile-operation.ts';
import { findOperation } from '../../src/graphql/operation.ts';
import { RUNS_BEFORE_COMPILATION } from '../../src/graphql/plugins/execution.ts';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { schema } from '../../src/schema.ts';
import { useGateway } from '../support/gateway.ts';
import { payloads, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { platform, signToken } from '../support/tokens.ts';
import { arbitraryQueries } from './arbitrary-queries.ts';

/*
 * An operation is interpreted by graphql-js at first, and compiled when it is sent often. The replies must not differ.
 */

const gateway = useGateway();
const scope = 'account:write platform:write platform:read platform:credentials';
const token = await signToken({ sub: 'alice', org_id: 'acme', scope });
const alice = gateway.as(async () => token);
beforeAll(async () => {
  for (const kind of notificationKinds) await publish(gateway, 'alice', kind, { id: `n-${kind}` });
  const failed = workspaceInput({ status: 'ERROR', errorMessage: 'out' });
  await putWorkspaces(gateway, 'alice', [workspaceInput(), failed]);
});

/** Enough requests to interpret an operation first and then run it compiled twice. */
const TIMES = RUNS_BEFORE_COMPILATION + 2;

/** Sends a document until it would be compiled, and returns the distinct replies. */
async function repeat(query: string, variables?: Record<string, unknown>): Promise<string[]> {
  const replies = new Set<string>();
  for (let time = 0; time < TIMES; time += 1) {
    const { status, text } = await alice.graphql(query, variables);
    const { errors = [], ...data } = JSON.parse(text);
    // Fields of a query run at once, so the order of their errors is that in which they fail.
    const sorted = errors.map((error: object) => JSON.stringify(error)).toSorted();
    replies.add(JSON.stringify([status, data, sorted]));
  }
  return [...replies];
}

test('a compiled operation returns the same as the interpreted one, for queries over the whole schema', {
  timeout: 120_000,
}, async () => {
  let compiled = 0;
  await fc.assert(
    fc.asyncProperty(arbitraryQueries, async ({ query, variables }) => {
      const document = parse(query);
      if (validate(schema, document).length > 0) return;
      if (!isCompilable(schema, findOperation(schema, document, undefined))) return;
      compiled += 1;
      const replies = await repeat(query, variables);
      expect(replies).toHaveLength(1);
    }),
    { numRuns: 1000 },
  );
  expect(compiled).toBeGreaterThan(150);
});

const update = `mutation ($on: Boolean!, $kind: NotificationKind) {
  updateNotificationPreferences(input: { preferences: [
    { notificationKind: $kind, emailEnabled: $on, pushEnabled: true, chatDmEnabled: false }
  ] }) { preferences { notificationKind emailEnabled createdAt } }
}`;

test.each<[what: string, query: string, variables?: Record<string, unknown>]>([
  [
    'fragments that overlap',
    `query ($first: Int) { notifications(first: $first) {
       nodes { __typename ... on UserNotification { id: title task { id } } ...Named
         ... on PlanRequestedNotification { payload { tool: toolId plan } } ... on TaskFailedNotification { failed: title } }
       ...Rest
     } }
     fragment Named on UserNotification { id: title task { projectId } createdAt }
     fragment Rest on NotificationConnection { totalCount nodes { ... on UserNotification { kind } } }`,
    { first: 3 },
  ],
  [
    'errors with positions in other line endings',
    '{\r\n__typename\r  notification(id: "none") { __typename } }',
  ],
  [
    'several failures and some data',
    '{ a: notification(id: "1") { __typename } b: editorAuth { needsReauth } c: notification(id: "2") { __typename } }',
  ],
  [
    'a mutation whose second field fails',
    `mutation { one: updateNotificationPreferences(input: { preferences: [] }) { __typename }
       two: dismissNotification(input: { id: "none" }) { notification { __typename } } }`,
  ],
  [
    'null for a variable with a default value',
    'query ($id: ID = "a") { request(userId: $id, notificationId: $id) { __typename } }',
    { id: null },
  ],
  [
    'a variable inside a list literal',
    'query ($kind: NotificationKind!) { notifications(filter: { kinds: [$kind] }) { totalCount } }',
    { kind: 'TASK_FAILED' },
  ],
  ['conditions', '{ notifications { totalCount @skip(if: true) nodes @include(if: true) { __typename } } }'],
  ['introspection', '{ __schema { queryType { name } } }'],
  ['a repeated change', update, { on: false, kind: 'TASK_FAILED' }],
  ['a change with an omitted variable', update, { on: true }],
])('repeated requests return the same for %s', async (_what, query, variables) => {
  expect(await repeat(query, variables)).toHaveLength(1);
});

test.each<[isCompiled: boolean, what: string, query: string]>([
  [
    true,
    'a query with a fragment',
    '{ workspaces { ...F } } fragment F on WorkspaceConnection { totalCount }',
  ],
  // The compiled code would be exponentially large.
  [
    false,
    'a fragment that is used twice',
    '{ a: workspaces { ...F } b: workspaces { ...F } } fragment F on WorkspaceConnection { totalCount }',
  ],
  [false, 'a document with several operations', 'query A { __typename } query B { __typename }'],
  [false, 'a long document', `{ workspaces { totalCount } } #${' '.repeat(9000)}`],
])('whether it is compiled (%s): %s', (isCompiled, _what, query) => {
  const operation = findOperation(schema, parse(query), query.startsWith('query A') ? 'A' : undefined);
  expect(isCompilable(schema, operation)).toBe(isCompiled);
});

test('a repeated document still requires exactly one member of a @oneOf input', async () => {
  const query = `mutation ($payload: NotificationPayloadInput!) { publishNotification(input: {
    userId: "alice", task: { id: "t", projectId: "p" }, title: "T", payload: $payload
  }) { created } }`;
  for (let time = 0; time < TIMES; time += 1) await alice.run(query, { payload: payloads.task_failed });
  const both = { ...payloads.task_failed, ...payloads.plan_requested };
  await expect(alice.run(query, { payload: both })).rejects.toThrow('exactly one field');
});

test('a repeated document with credentials as literals stores the credentials of each request', async () => {
  for (const accessToken of [...Array(TIMES).fill('one'), 'two']) {
    await alice.run(
      `mutation { storeEditorSubscription(input: { accessToken: "${accessToken}", refreshToken: "r" }) { __typename } }`,
    );
    expect(await gateway.as(platform).editorCredential({ userId: 'alice' })).toMatchObject({ accessToken });
  }
});
