import { expect, test } from 'vitest';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { graphql } from '../support/client.ts';
import { putContact, unreachableProviders } from '../support/delivery.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { asMember, asPlatform, credentialVersion, publish } from '../support/records.ts';
import { signToken } from '../support/tokens.ts';

/* Each question of a support team is one query: the examples in examples/dashboard. */

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });

/** Runs an example once, with its variables. */
async function ask(name: string, variables = {}) {
  const example = readExamples().find((one) => one.name === name) ?? expect.unreachable();
  const given = example.variables === '' ? {} : JSON.parse(example.variables);
  const token = await signToken({ sub: 'support', scope: 'platform:read' });
  const { data, errors } = await graphql(gateway, example.query, { ...given, ...variables }, { token });
  expect(errors).toEqual([]);
  return data.platform;
}

const task = { id: 'task', projectId: 'web-shop' };

test('failed-tasks-today: who has failed tasks today', async () => {
  await publish(gateway, 'alice', 'task_failed', { id: 'today', task, title: 'The build failed' });
  await publish(gateway, 'bob', 'plan_requested', { task });
  await publish(gateway, 'carol', 'task_failed', { id: 'yesterday', task });
  await gateway.database.sql(
    `update notification set created_at = now() - interval '25 h' where id = 'yesterday'`,
  );
  const { notifications } = await ask('failed-tasks-today');
  expect(notifications).toMatchObject({
    totalCount: 1,
    nodes: [{ userId: 'alice', title: 'The build failed', task }],
    pageInfo: { hasNextPage: false },
  });
});

test('active-in-project: how many are active in a project', async () => {
  const input = { task: { id: 'task', projectId: 'counted' } };
  for (const user of ['p-1', 'p-2', 'p-3']) {
    await publish(gateway, user, 'plan_requested', { id: 'n', ...input });
  }
  await dismiss(gateway, 'p-3', ['n']);
  await gateway.database.sql(
    `update notification set created_at = now() - interval '80 days' where user_id = 'p-2'`,
  );
  const count = async (since?: Date) =>
    (await ask('active-in-project', { projectId: 'counted', since })).notifications.totalCount;
  expect(await count()).toBe(2);
  expect(await count(new Date(Date.now() - 86_400_000))).toBe(1);
});

test('waiting-requests: which requests have waited for an hour', async () => {
  for (const [user, age] of [
    ['waits', '61 min'],
    ['waits-long', '80 days'],
    ['asked', '59 min'],
  ] as const) {
    await publish(gateway, user, 'plan_requested', { id: 'n', title: user, task });
    await gateway.database.sql(
      `update notification set created_at = now() - $1::interval where user_id = $2`,
      [age, user],
    );
  }
  const createdBefore = new Date(Date.now() - 3_600_000);
  const { notifications } = await ask('waiting-requests', { createdBefore });
  const waiting = notifications.nodes.map(({ title }: { title: string }) => title);
  // Another test has an open request of the same age.
  expect(waiting.slice(0, 2)).toEqual(['waits', 'waits-long']);
  expect(waiting).not.toContain('asked');
  expect(notifications).toMatchObject({ totalCount: waiting.length, pageInfo: { hasNextPage: false } });
});

test('why-no-email: why a user got no email', async () => {
  const reasons = async (userId: string) =>
    (await ask('why-no-email', { userId })).deliveries.nodes.map(
      ({
        state,
        reason,
        notification: { title },
      }: Record<string, string> & { notification: { title: string } }) => `${state} ${reason} ${title}`,
    );
  await publish(gateway, 'why', 'task_failed');
  await putContact(gateway, 'why', { email: 'why@example.com' });
  await asMember(
    gateway,
    'why',
    `mutation { updateNotificationPreferences(input: { preferences: [
      { notificationKind: PLAN_REQUESTED, emailEnabled: false, pushEnabled: true, chatDmEnabled: true }] }) { __typename } }`,
  );
  await publish(gateway, 'why', 'plan_requested');
  await publish(gateway, 'why', 'task_failed', { id: 'rejected' });
  await gateway.database.sql(
    `update delivery set state = 'failed', reason = 'recipient_rejected' where notification_id = 'rejected'`,
  );
  const withoutProvider = await startTestGateway({}, gateway.database);
  await publish(withoutProvider, 'why', 'task_failed');
  await withoutProvider.close();

  expect(await reasons('why')).toEqual([
    'SKIPPED NO_PROVIDER A title',
    'FAILED RECIPIENT_REJECTED A title',
    'SKIPPED CHANNEL_DISABLED A title',
    'SKIPPED NO_TARGET A title',
  ]);
});

test('editors-to-reconnect: whose editor needs re-authentication', async () => {
  for (const userId of ['e-1', 'e-2']) {
    await asMember(
      gateway,
      userId,
      'mutation { storeEditorSubscription(input: { accessToken: "a", refreshToken: "r" }) { __typename } }',
    );
  }
  await asPlatform(
    gateway,
    `mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }`,
    { input: { userId: 'e-2', version: await credentialVersion(gateway, 'e-2'), reason: 'TOKEN_EXPIRED' } },
  );
  expect(await ask('editors-to-reconnect')).toMatchObject({
    editorCredentials: {
      totalCount: 1,
      nodes: [{ userId: 'e-2', state: 'NEEDS_REAUTH', reauthReason: 'TOKEN_EXPIRED' }],
    },
  });
});

test('all questions can be asked in one request', async () => {
  const token = await signToken({ sub: 'support', scope: 'platform:read' });
  const query = `{ platform {
    notifications(filter: { kinds: [TASK_FAILED] }) { nodes { ... on UserNotification { userId } } }
    active: notifications(filter: { projectIds: ["web-shop"], statuses: [ACTIVE] }) { totalCount }
    deliveries(filter: { userIds: ["alice"] }) { nodes { state reason } }
    editorCredentials(filter: { states: [NEEDS_REAUTH] }) { nodes { userId } }
    workspaces(filter: { statuses: [ERROR] }) { totalCount }
    users { totalCount }
  } }`;
  const { data, errors } = await graphql(gateway, query, {}, { token });
  expect(errors).toEqual([]);
  expect(Object.values(data.platform)).not.toContain(null);
});
