import { randomUUID } from 'node:crypto';
import { InMemoryCache } from '@apollo/client';
import { type DocumentNode, isObjectType, print } from 'graphql';
import { expect, test } from 'vitest';
import { apolloCacheOptions } from '../../clients/typescript/src/apollo.ts';
import * as operations from '../../clients/typescript/src/operations.ts';
import { graphcacheOptions } from '../../clients/typescript/src/urql.ts';
import { schema } from '../../src/schema.ts';
import { useGateway } from '../support/gateway.ts';
import { createBrowser } from '../support/push-service.ts';
import { type Kind, payloads, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';
import { describeCaches } from './caching-clients.ts';

const gateway = useGateway({
  VAPID_PRIVATE_KEY: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  VAPID_SUBJECT: 'mailto:ops@example.com',
  PUSH_ALLOWED_HOSTS: 'localhost:8443',
  DELIVERY: 'false',
});

const REGISTER = `mutation ($input: RegisterPushSubscriptionInput!) {
  registerPushSubscription(input: $input) { pushSubscription { ref id } }
}`;

describeCaches('the cache', (create) => {
  test('stores records with equal IDs of two users separately', async () => {
    const [own, other] = [randomUUID(), randomUUID()];
    const workspace = workspaceInput();
    for (const [user, title, status] of [
      [own, 'Own', 'RUNNING'],
      [other, 'Another', 'STOPPED'],
    ] as const) {
      await publish(gateway, user, 'task_failed', { id: 'seed-12', title });
      await putWorkspaces(gateway, user, [{ ...workspace, status }]);
    }
    const scope = 'account:write platform:read';
    const client = create(gateway.address, await signToken({ sub: own, org_id: 'acme', scope }));
    const fields = `{
      notifications { nodes { ... on UserNotification { ref id title } } }
      workspaces { nodes { ref id status } }
      notificationPreferences { ref notificationKind emailEnabled }
      editorAuth { ref auth { type } }
    }`;
    const [ourQuery, theirQuery] = [
      `{ viewer { ref id ${fields.slice(1)} }`,
      `{ user(id: "${other}") { ref id ${fields.slice(1)} }`,
    ];
    await gateway.as(own).connectEditor({ accessToken: 'a', refreshToken: 'r' });
    await gateway.as(own).updatePreferences({ preferences: [{ emailEnabled: false }] });

    const ours = await client.fetch(ourQuery);
    const theirs = await client.fetch(theirQuery);

    expect(await client.readCached(ourQuery)).toEqual(ours);
    expect(await client.readCached(theirQuery)).toEqual(theirs);
    expect(ours).toMatchObject({
      viewer: {
        notifications: { nodes: [{ id: 'seed-12', title: 'Own' }] },
        workspaces: { nodes: [{ id: workspace.id, status: 'RUNNING' }] },
        editorAuth: { auth: { type: 'SUBSCRIPTION' } },
      },
    });
    expect(theirs).toMatchObject({
      user: {
        notifications: { nodes: [{ id: 'seed-12', title: 'Another' }] },
        workspaces: { nodes: [{ id: workspace.id, status: 'STOPPED' }] },
        editorAuth: { auth: { type: 'NONE' } },
      },
    });
  });

  test("the package's operations select all that the cache needs to store and to update their results", async () => {
    const user = randomUUID();
    for (const kind of Object.keys(payloads) as Kind[]) await publish(gateway, user, kind);
    const { id } = await publish(gateway, user, 'plan_requested');
    await putWorkspaces(gateway, user, [workspaceInput()]);
    const client = create(gateway.address, await member(user));
    const lists = [
      [operations.Notifications, { first: 20, filter: { statuses: ['ACTIVE'] } }],
      [operations.Notification, { id }],
      [operations.Preferences, {}],
      [operations.EditorConnection, {}],
    ] as const;
    const others = [
      [operations.Counts, {}],
      [operations.Workspaces, { first: 20 }],
      [operations.Deliveries, { notificationId: id }],
    ] as const;
    for (const [query, variables] of [...lists, ...others]) {
      const data = await client.fetch(print(query), { ...variables });
      expect(await client.readCached(print(query), { ...variables })).toEqual(data);
    }
    const mutate = async (operation: DocumentNode, input: object, count: number, changed: object) => {
      await client.mutate(print(operation), { input });
      const cached = await Promise.all(
        lists.map(([query, variables]) => client.readCached(print(query), { ...variables })),
      );
      const { notifications, ...rest } = Object.assign({}, ...cached);
      expect(notifications.nodes).toHaveLength(count);
      expect(rest).toMatchObject(changed);
    };
    await mutate(operations.Dismiss, { id }, 4, { notification: { status: 'DISMISSED' } });
    await mutate(operations.Restore, { id }, 5, { notification: { status: 'ACTIVE' } });
    const answer = { id, answerId: randomUUID(), plan: { decision: 'APPROVE' } };
    await mutate(operations.Answer, answer, 4, { notification: { status: 'RESOLVED' } });
    const preferences = [{ notificationKind: 'TASK_FAILED', pushEnabled: false }];
    await mutate(operations.UpdatePreferences, { preferences }, 4, {
      notificationPreferences: [true, true, false, true].map((pushEnabled) => ({ pushEnabled })),
    });
    await mutate(operations.ConnectEditor, { accessToken: 'a', refreshToken: 'r' }, 4, {
      editorAuth: { auth: { type: 'SUBSCRIPTION' } },
    });
  });

  test('merges objects without `ref`, and replaces lists', async () => {
    const user = randomUUID();
    await putWorkspaces(gateway, user, [workspaceInput()]);
    const client = create(gateway.address, await member(user));
    const queries = ['cpus', 'memoryMb'].map(
      (field) => `{ workspaces { nodes { ref hardware { ${field} } } } }`,
    );
    const browsers = '{ pushSubscriptions { ref id } }';
    for (const name of ['first', 'second']) {
      const { keys } = createBrowser();
      await client.mutate(REGISTER, { input: { endpoint: `https://push.example.com/${name}`, keys } });
    }
    for (const query of queries) await client.fetch(query);
    const [{ id }] = (await client.fetch(browsers)).pushSubscriptions;
    await client.mutate(`mutation { removePushSubscription(input: { id: "${id}" }) { removed } }`);

    await client.fetch(browsers);

    for (const query of queries) expect(await client.readCached(query)).toBeDefined();
    expect((await client.readCached(browsers)).pushSubscriptions).toHaveLength(1);
  });
});

const roots = ['Query', 'Mutation', 'Subscription'];
const objectTypes = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type))
  .filter(({ name }) => !name.startsWith('__') && !roots.includes(name));

test('both caches identify every type with the field `ref` by it, and no other type', () => {
  const apollo = new InMemoryCache(apolloCacheOptions);
  const { keys } = graphcacheOptions;
  for (const type of objectTypes) {
    const record = { __typename: type.name, id: 'id', ref: 'ref' };
    const isRecord = 'ref' in type.getFields();
    expect(keys[type.name]?.(record), type.name).toBe(isRecord ? 'ref' : null);
    expect(apollo.identify(record), type.name).toBe(isRecord ? `${type.name}:{"ref":"ref"}` : undefined);
  }
  expect(Object.keys(keys).filter((name) => !isObjectType(schema.getType(name)))).toEqual([]);
});

test('every type with an ID or a user has the field `ref`, except events and the parts of a notification', () => {
  const withoutRef = objectTypes
    .filter((type) => ['id', 'userId'].some((name) => name in type.getFields()))
    .filter((type) => !('ref' in type.getFields()));
  expect(withoutRef.map(({ name }) => name)).toEqual(['NotificationTask', 'PlatformEvent', 'Request']);
});
