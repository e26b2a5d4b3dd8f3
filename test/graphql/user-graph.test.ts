import { getNamedType, isInputObjectType, isObjectType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { graphql } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { asMember, deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { openStream } from '../support/sse.ts';
import { recordStatements } from '../support/statements.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway();
beforeAll(async () => {
  for (const user of users) {
    const workspace = workspaceInput({ previewToken: `preview-of-${user}` });
    await putWorkspaces(gateway, user, [workspace, workspaceInput({ status: 'ERROR', errorMessage: user })]);
    const task = { id: 'task', projectId: 'p', workspaceId: workspace.id };
    await publish(gateway, user, 'task_failed', { id: 'failed', task });
    for (const id of ['plan-1', 'plan-2', 'plan-3']) await publish(gateway, user, 'plan_requested', { id });
    await asMember(gateway, user, STORE);
  }
});

const [alice, bob] = ['graph-00', 'graph-01'];
const users = Array.from({ length: 12 }, (_, index) => `graph-${String(index).padStart(2, '0')}`);

const STORE =
  'mutation { storeEditorSubscription(input: { accessToken: "a", refreshToken: "r" }) { __typename } }';

const dashboard = () => signToken({ sub: 'dashboard', scope: 'platform:read' });
const asDashboard = async (query: string, variables = {}) =>
  graphql(gateway, query, variables, { token: await dashboard() });

/** Every field of a user, with arguments. */
const FIELDS = `
  id ref
  notifications(first: 3, filter: { kinds: [PLAN_REQUESTED, TASK_FAILED] }) {
    totalCount
    nodes { ... on UserNotification { ref id userId title task { workspace { ref id userId status } }
      deliveries { ref userId notificationId channel state reason } } }
    pageInfo { hasNextPage endCursor }
  }
  older: notifications(last: 2) { nodes { ... on UserNotification { id } } pageInfo { hasPreviousPage } }
  notification(id: "failed") { ... on TaskFailedNotification { ref id payload { message } } }
  workspaces(filter: { statuses: [ERROR] }) { totalCount nodes { ref id errorMessage } }
  notificationCounts { ref userId total byKind { kind count } cursor }
  notificationPreferences { ref notificationKind emailEnabled }
  editorAuth { ref needsReauth auth { type } }
  contact { ref userId email }
  pushSubscriptions { ref id }
  deliveries(notificationId: "failed") { ref channel state reason notification { ... on UserNotification { ref title } } }`;

test('a user has the same records as viewer, by ID and in the list of users', async () => {
  for (const user of users.slice(0, 2)) {
    const { viewer } = await asMember(gateway, user, `{ viewer { ${FIELDS} } }`);
    expect(viewer.notifications).toMatchObject({ totalCount: 4, pageInfo: { hasNextPage: true } });
    expect(viewer.notification.id).toBe('failed');
    expect(viewer.workspaces).toMatchObject({ totalCount: 1, nodes: [{ errorMessage: user }] });
    expect(viewer.editorAuth.auth).toEqual({ type: 'SUBSCRIPTION' });
    expect(viewer.deliveries).toMatchObject(
      ['CHAT_DM', 'EMAIL', 'PUSH'].map((channel) => ({
        ...{ channel, state: 'SKIPPED', reason: 'NO_PROVIDER' },
        notification: { title: 'A title' },
      })),
    );
    const query = `query ($user: ID!) { user(id: $user) { ${FIELDS} } }`;
    expect((await asDashboard(query, { user })).data.user).toEqual(viewer);
    const list = `{ platform { users(prefix: "graph-", first: 12) { nodes { ${FIELDS} } } } }`;
    const { data } = await asDashboard(list);
    expect(data.platform.users.nodes.find(({ id }: { id: string }) => id === user)).toEqual(viewer);
  }
});

test('viewer has the records of the root fields', async () => {
  const user = alice;
  const { viewer, ...own } = await asMember(
    gateway,
    user,
    `{ viewer { ${FIELDS} } ${FIELDS.replace('id ref', '')} }`,
  );
  const { id, ref, ...fields } = viewer;
  expect(own).toEqual(fields);
  expect([id, ref]).toEqual([user, expect.any(String)]);
});

test('the number of statements does not depend on the number of users', async () => {
  const count = async (first: number) => {
    const query = `{ platform { users(prefix: "graph-", first: ${first}) { nodes { ${FIELDS} } } } }`;
    await asDashboard(query);
    const statements = await recordStatements(() => asDashboard(query));
    return statements.filter(({ values }) => JSON.stringify(values).includes('graph-')).length;
  };
  // Calls that arrive later than others become another statement.
  expect(await count(12)).toBeLessThan((await count(2)) + 6);
});

test("an inbox's records lead to others by a few statements", async () => {
  const user = 'batched';
  const workspace = workspaceInput();
  await putWorkspaces(gateway, user, [workspace]);
  for (let index = 0; index < 40; index += 1) {
    const task = { id: `task-${index}`, projectId: 'p', workspaceId: workspace.id };
    await publish(gateway, user, 'task_failed', { task });
  }
  const fields = `... on UserNotification { ref task { workspace { ref id } }
    deliveries { ref notification { ... on UserNotification { title } } } }`;
  for (const query of [
    `{ notifications { nodes { ${fields} } } }`,
    `{ viewer { notifications { nodes { ${fields} } } } }`,
  ]) {
    const statements = await recordStatements(async () => {
      const data = await asMember(gateway, user, query);
      expect((data.viewer ?? data).notifications.nodes).toHaveLength(40);
    });
    expect(statements.filter(({ values }) => JSON.stringify(values).includes(user)).length).toBeLessThan(12);
  }
});

describe('permissions', () => {
  const member = ['notificationPreferences { ref }', 'editorAuth { ref }'];
  const others = [
    'notifications { totalCount }',
    'notification(id: "failed") { __typename }',
    'workspaces { totalCount }',
    'notificationCounts { total }',
    'contact { ref }',
    'pushSubscriptions { ref }',
    'deliveries(notificationId: "failed") { ref }',
    'notifications { nodes { ... on UserNotification { deliveries { state } task { workspace { id } } } } }',
  ];

  test.each([...member, ...others])('viewer.%s requires membership as its root field does', async (field) => {
    const token = await signToken({ sub: alice });
    const nested = await graphql(gateway, `{ viewer { id ${field} } }`, {}, { token });
    const root = await graphql(gateway, `{ ${field} }`, {}, { token });
    expect(nested.errors.map(({ extensions }) => extensions)).toEqual(
      root.errors.map(({ extensions }) => extensions),
    );
    expect(nested.data.viewer.id).toBe(alice);
    expect(nested.errors).toHaveLength(member.includes(field) ? 1 : 0);
  });

  test.each([...member, ...others])('user.%s requires platform:read and no membership', async (field) => {
    const query = `{ user(id: "${bob}") { ${field} } }`;
    expect((await asDashboard(query)).errors).toEqual([]);
    const token = await signToken({ sub: bob, org_id: 'acme', scope: 'account:write platform:write' });
    const { errors } = await graphql(gateway, query, {}, { token });
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN']);
  });

  test('the error for a platform token names user(id:)', async () => {
    const { errors } = await asDashboard('{ notifications { totalCount } viewer { id } }');
    const message =
      'This operation requires a token with the scope "account:read". With "platform:read", use the field `user(id:)` of the GraphQL API.';
    expect(errors.map((error) => error.message)).toEqual([message, message]);
  });

  test('only the user of a workspace reads its preview token', async () => {
    const field = 'workspaces { nodes { previewToken } }';
    const tokens = ({ workspaces }: { workspaces: { nodes: { previewToken: string | null }[] } }) =>
      workspaces.nodes.map(({ previewToken }) => previewToken).filter(Boolean);
    const user = alice;
    expect(tokens((await asMember(gateway, user, `{ viewer { ${field} } }`)).viewer)).toEqual([
      `preview-of-${user}`,
    ]);
    const query = `{ user(id: "${user}") { ${field} } }`;
    expect(tokens((await asDashboard(query)).data.user)).toEqual([]);
    const token = await signToken({ sub: user, scope: 'platform:read' });
    expect(tokens((await graphql(gateway, query, {}, { token })).data.user)).toEqual([]);
  });

  test('an unknown user is null, but the caller always exists', async () => {
    expect((await asDashboard('{ user(id: "graph-unknown") { id } }')).data).toEqual({ user: null });
    expect(
      await asMember(gateway, 'graph-unknown', '{ viewer { id notificationCounts { total } } }'),
    ).toEqual({
      viewer: { id: 'graph-unknown', notificationCounts: { total: 0 } },
    });
  });
});

describe('limits', () => {
  test('each field that leads to records costs a read under viewer, and a platform operation under user', async () => {
    const limited = await startTestGateway(
      { RATE_LIMIT_READS_PER_MINUTE: '100', RATE_LIMIT_PLATFORM_PER_MINUTE: '1000' },
      gateway.database,
    );
    const remaining = async (query: string, claims: Record<string, unknown> & { sub: string }) => {
      const { headers } = await graphql(limited, query, {}, { token: await signToken(claims) });
      return headers.get('RateLimit-Remaining');
    };
    const fields =
      '{ id ref notifications { totalCount } a: workspaces { totalCount } b: workspaces { totalCount } }';
    expect(await remaining(`{ viewer ${fields} }`, { sub: 'charged' })).toBe('96');
    const claims = { sub: 'charged', scope: 'platform:read' };
    expect(await remaining(`{ user(id: "${alice}") ${fields} }`, claims)).toBe('996');
    expect(
      await remaining(`{ platform { users(prefix: "graph-", first: 12) { nodes ${fields} } } }`, claims),
    ).toBe('958');
    await limited.close();
  });

  test('the events of a subscription are not charged', async () => {
    const limited = await startTestGateway({ RATE_LIMIT_READS_PER_MINUTE: '3' }, gateway.database);
    const token = await signToken({ sub: 'streaming' });
    const fields = '... on UserNotification { id ref deliveries { ref channel } task { workspace { id } } }';
    const stream = await openStream(
      limited,
      `subscription { notificationEvents { notification { ${fields} } } }`,
      {},
      { token },
    );
    const { id: workspaceId } = workspaceInput();
    await putWorkspaces(limited, 'streaming', [{ ...workspaceInput(), id: workspaceId }]);
    for (const id of ['one', 'two', 'three', 'four']) {
      await publish(limited, 'streaming', 'task_failed', { id, task: { id, projectId: 'p', workspaceId } });
      const { data, errors } = await stream.take();
      expect(errors).toEqual([]);
      expect(data.notificationEvents.notification).toMatchObject({
        id,
        task: { workspace: { id: workspaceId } },
      });
      expect(data.notificationEvents.notification.deliveries).toHaveLength(3);
    }
    const { headers } = await graphql(limited, '{ viewer { id } }', {}, { token });
    expect(headers.get('RateLimit-Remaining')).toBe('1');
    stream.close();
    await limited.close();
  });

  test('a failing field leaves the others', async () => {
    const fields = 'notifications(first: 101) { totalCount } workspaces { totalCount }';
    const { data, errors } = await asDashboard(`{ user(id: "${alice}") { ${fields} } }`);
    expect(data.user).toEqual({ notifications: null, workspaces: { totalCount: 2 } });
    expect(errors).toMatchObject([
      { path: ['user', 'notifications'], extensions: { code: 'VALIDATION_FAILED' } },
    ]);
  });

  test.each(['first: 21', 'last: 21'])(
    'a list of a listed user has at most 20 records, not %s',
    async (page) => {
      const { errors } = await asDashboard(
        `{ platform { users(prefix: "graph-00", first: 1) { nodes { workspaces(${page}) { totalCount } } } } }`,
      );
      expect(errors[0].extensions.errors).toEqual([
        {
          location: page.split(':')[0],
          message: 'must be at most 20 in a list inside another list',
          value: 21,
        },
      ]);
    },
  );

  test('no list is inside more than one other', () => {
    const isConnection = (name: string) => name.endsWith('Connection');
    const visit = (name: string, path: readonly string[], depth: number): number => {
      const type = schema.getType(name);
      if (!isObjectType(type) || path.includes(name)) return depth;
      const below = depth + (isConnection(name) ? 1 : 0);
      const types = Object.values(type.getFields()).map((field) => getNamedType(field.type).name);
      return Math.max(below, ...types.map((next) => visit(next, [...path, name], below)));
    };
    expect(visit('Query', [], 0)).toBe(2);
  });
});

describe('ref', () => {
  const read = async (user: string) => {
    const data = await asMember(
      gateway,
      user,
      `{ notification(id: "n") { __typename ... on UserNotification { ref } } workspaces { nodes { ref } }
         viewer { ref } notificationCounts { ref } contact { ref } editorAuth { ref } notificationPreferences { ref } }`,
    );
    return Array.from(JSON.stringify(data).matchAll(/"ref":"([^"]+)/g), ([, ref]) => ref);
  };
  const id = workspaceInput().id;
  const fill = async (user: string) => {
    await publish(gateway, user, 'task_failed', { id: 'n' });
    await putWorkspaces(gateway, user, [{ ...workspaceInput(), id }]);
  };

  test('differs between types, users and kinds, and between a record and one of an earlier life of its user', async () => {
    await Promise.all([fill('ref-1'), fill('ref-2')]);
    const [first, second] = [await read('ref-1'), await read('ref-2')];
    expect(new Set([...first, ...second]).size).toBe(20);
    expect(await read('ref-1')).toEqual(first);
    await deleteUser(gateway, 'ref-1');
    await fill('ref-1');
    const again = await read('ref-1');
    expect(first.filter((ref) => !again.includes(ref))).toEqual(first.slice(0, 2));
  });

  test('is the same in every place where a record is returned', async () => {
    const { ref } = (
      await asMember(gateway, alice, '{ notification(id: "failed") { ... on UserNotification { ref } } }')
    ).notification;
    const dismissal =
      'mutation { dismissNotification(input: { id: "failed" }) { notification { ... on UserNotification { ref } } } }';
    expect((await asMember(gateway, alice, dismissal)).dismissNotification.notification.ref).toBe(ref);
  });

  test('is never an argument', () => {
    const types = Object.values(schema.getTypeMap());
    const fields = types.filter(isInputObjectType).flatMap((type) => Object.keys(type.getFields()));
    const args = types
      .filter(isObjectType)
      .flatMap((type) =>
        Object.values(type.getFields()).flatMap((field) => field.args.map(({ name }) => name)),
      );
    expect(new Set<string>([...fields, ...args]).has('ref')).toBe(false);
  });
});
