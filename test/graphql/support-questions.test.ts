import { expect, test } from 'vitest';
import { readExamples } from '../../src/pages/graphiql-examples.ts';
import { putContact, unreachableProviders } from '../support/delivery.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { credentialVersion, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/* Each question of a support team is one query: the examples in examples/dashboard. */

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });
const { as } = gateway;

/** Runs an example once, with its variables. */
async function ask(name: string, variables = {}) {
  const example = readExamples().find((one) => one.name === name) ?? expect.unreachable();
  const given = example.variables === '' ? {} : JSON.parse(example.variables);
  const support = as(() => platform('platform:read'));
  return (await support.run(example.query, { ...given, ...variables })).platform;
}

const task = { id: 'task', projectId: 'web-shop' };
const setAge = (userId: string, age: string) =>
  gateway.database.sql('update notification set created_at = now() - $1::interval where user_id = $2', [
    age,
    userId,
  ]);

test('failed-tasks-today: who has failed tasks today', async () => {
  await publish(gateway, 'alice', 'task_failed', { task, title: 'The build failed' });
  await publish(gateway, 'bob', 'plan_requested', { task });
  await publish(gateway, 'carol', 'task_failed', { task });
  await setAge('carol', '25 h');
  expect(await ask('failed-tasks-today')).toMatchObject({
    notifications: {
      totalCount: 1,
      nodes: [{ userId: 'alice', title: 'The build failed', task }],
      pageInfo: { hasNextPage: false },
    },
  });
});

test('active-in-project: how many are active in a project', async () => {
  const given = { id: 'n', task: { id: 'task', projectId: 'counted' } };
  for (const user of ['p-1', 'p-2', 'p-3']) await publish(gateway, user, 'plan_requested', given);
  await as('p-3').dismiss({ id: 'n' });
  await setAge('p-2', '80 days');
  const count = async (since?: Date) =>
    (await ask('active-in-project', { projectId: 'counted', since })).notifications.totalCount;
  expect(await count()).toBe(2);
  expect(await count(new Date(Date.now() - 86_400_000))).toBe(1);
});

test('waiting-requests: which requests have waited for an hour', async () => {
  for (const [user, age] of Object.entries({ waits: '61 min', 'waits-long': '80 days', asked: '59 min' })) {
    await publish(gateway, user, 'plan_requested', { title: user, task });
    await setAge(user, age);
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
  await publish(gateway, 'why', 'task_failed', { title: 'No target' });
  await putContact(gateway, 'why', { email: 'why@example.com' });
  const off = { notificationKind: 'PLAN_REQUESTED', emailEnabled: false };
  await as('why').updatePreferences({ preferences: [off] });
  await publish(gateway, 'why', 'plan_requested', { title: 'Off' });
  await publish(gateway, 'why', 'task_failed', { id: 'rejected', title: 'Rejected' });
  await gateway.database.sql(
    `update delivery set state = 'failed', reason = 'recipient_rejected' where notification_id = 'rejected'`,
  );
  const withoutProvider = await startTestGateway({}, gateway.database);
  await publish(withoutProvider, 'why', 'task_failed', { title: 'No provider' });
  await withoutProvider.close();

  expect((await ask('why-no-email', { userId: 'why' })).deliveries.nodes).toMatchObject([
    { state: 'SKIPPED', reason: 'NO_PROVIDER', notification: { title: 'No provider' } },
    { state: 'FAILED', reason: 'RECIPIENT_REJECTED', notification: { title: 'Rejected' } },
    { state: 'SKIPPED', reason: 'CHANNEL_DISABLED', notification: { title: 'Off' } },
    { state: 'SKIPPED', reason: 'NO_TARGET', notification: { title: 'No target' } },
  ]);
});

test('editors-to-reconnect: whose editor needs re-authentication', async () => {
  for (const userId of ['e-1', 'e-2'])
    await as(userId).connectEditor({ accessToken: 'a', refreshToken: 'r' });
  const version = await credentialVersion(gateway, 'e-2');
  await as(platform).reportEditorFailure({ userId: 'e-2', version, reason: 'TOKEN_EXPIRED' });
  expect(await ask('editors-to-reconnect')).toMatchObject({
    editorCredentials: {
      totalCount: 1,
      nodes: [{ userId: 'e-2', state: 'NEEDS_REAUTH', reauthReason: 'TOKEN_EXPIRED' }],
    },
  });
});
