import { beforeAll, expect, test } from 'vitest';
import { RUNS_BEFORE_COMPILATION } from '../../src/graphql/plugins/execution.ts';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { useGateway } from '../support/gateway.ts';
import { payloads, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/*
 * An operation is interpreted by graphql-js at first, and compiled when it is sent often. The replies must not differ.
 * compiled-equality.long.test.ts compares both for arbitrary queries.
 */

const gateway = useGateway();
const { as } = gateway;
beforeAll(async () => {
  for (const kind of notificationKinds) await publish(gateway, 'alice', kind);
});

/** Enough requests to interpret an operation first and then run it compiled twice. */
const TIMES = RUNS_BEFORE_COMPILATION + 2;

const update = `mutation ($on: Boolean!, $kind: NotificationKind) {
  updateNotificationPreferences(input: { preferences: [
    { notificationKind: $kind, emailEnabled: $on, pushEnabled: true, chatDmEnabled: false }
  ] }) { preferences { notificationKind emailEnabled createdAt } }
}`;

test.each<[what: string, query: string, variables?: Record<string, unknown>]>([
  [
    'fragments that overlap',
    `query ($first: Int) { notifications(first: $first) {
       nodes { __typename ... on UserNotification { id name: title task { id } } ...Named
         ... on PlanRequestedNotification { payload { tool: toolId plan } } ... on TaskFailedNotification { failed: title } }
       ...Rest
     } }
     fragment Named on UserNotification { id task { projectId } createdAt }
     fragment Rest on NotificationConnection { totalCount nodes { ... on UserNotification { kind } } }`,
    { first: 3 },
  ],
  ['conditions', '{ notifications { totalCount @skip(if: true) nodes @include(if: true) { __typename } } }'],
  ['a record that does not exist', '{ __typename\n  missing: notification(id: "none") { __typename } }'],
  [
    'a record that does not exist, in a document with other line endings',
    '{\r\n__typename\r  notification(id: "none") { __typename } }',
  ],
  [
    'several failures and some data',
    '{ a: notification(id: "1") { __typename } b: editorAuth { needsReauth } c: notification(id: "2") { __typename } }',
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
    `mutation { one: updateNotificationPreferences(input: { preferences: [] }) { __typename }
       two: dismissNotification(input: { id: "none" }) { notification { __typename } } }`,
  ],
  ['introspection', '{ __schema { queryType { name } } }'],
  ['a repeated change', update, { on: false, kind: 'TASK_FAILED' }],
  ['a change with an omitted variable', update, { on: true }],
])('repeated requests return the same for %s', async (_what, query, variables) => {
  const replies = new Set<string>();
  for (let time = 0; time < TIMES; time += 1) {
    const { status, text } = await as('alice').graphql(query, variables);
    replies.add(`${status} ${text}`);
  }
  expect(replies.size, [...replies].join('\n')).toBe(1);
});

test('a repeated document still requires exactly one member of a @oneOf input', async () => {
  const query = `mutation ($payload: NotificationPayloadInput!) { publishNotification(input: {
    userId: "alice", task: { id: "t", projectId: "p" }, title: "T", payload: $payload
  }) { created } }`;
  for (let time = 0; time < TIMES; time += 1)
    await as(platform).run(query, { payload: payloads.task_failed });
  const both = { ...payloads.task_failed, ...payloads.plan_requested };
  await expect(as(platform).run(query, { payload: both })).rejects.toThrow('exactly one field');
});

test('a repeated document with credentials as literals stores the credentials of each request', async () => {
  for (const accessToken of [...Array(TIMES).fill('one'), 'two']) {
    await as('alice').run(
      `mutation { storeEditorSubscription(input: { accessToken: "${accessToken}", refreshToken: "r" }) { __typename } }`,
    );
    expect(await as(platform).editorCredential({ userId: 'alice' })).toMatchObject({ accessToken });
  }
});
