import { getNamedType, isInputObjectType, isObjectType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/schema.ts';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { recordStatements } from '../support/statements.ts';
import { platform, signToken } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;
const readPlatform = () => platform('platform:read');
const dashboard = as(readPlatform);

const [alice, bob] = ['graph-00', 'graph-01'];
const users = Array.from({ length: 12 }, (_, index) => `graph-${String(index).padStart(2, '0')}`);
beforeAll(async () => {
  for (const user of users) {
    const workspace = workspaceInput({ previewToken: `preview-of-${user}` });
    await putWorkspaces(gateway, user, [workspace, workspaceInput({ status: 'ERROR', errorMessage: user })]);
    const task = { id: 'task', projectId: 'p', workspaceId: workspace.id };
    await publish(gateway, user, 'task_failed', { id: 'failed', task });
    for (const id of ['plan-1', 'plan-2', 'plan-3']) await publish(gateway, user, 'plan_requested', { id });
    await as(user).connectEditor({ accessToken: 'a', refreshToken: 'r' });
  }
});

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

test('a user has the same records as viewer, by ID and in the list of users, and as the root fields', async () => {
  for (const user of [alice, bob]) {
    const { viewer, ...own } = await as(user).run(`{ viewer { ${FIELDS} } ${FIELDS.replace('id ref', '')} }`);
    const { id, ref, ...fields } = viewer;
    expect([id, ref]).toEqual([user, expect.any(String)]);
    expect(own).toEqual(fields);
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
    expect((await dashboard.run(query, { user })).user).toEqual(viewer);
    const list = `{ platform { users(prefix: "graph-", first: 12) { nodes { ${FIELDS} } } } }`;
    const { nodes } = (await dashboard.run(list)).platform.users;
    expect(nodes.find(({ id }: { id: string }) => id === user)).toEqual(viewer);
  }
});

test('the number of statements does not depend on the number of users', async () => {
  const count = async (first: number) => {
    const query = `{ platform { users(prefix: "graph-", first: ${first}) { nodes { ${FIELDS} } } } }`;
    await dashboard.run(query);
    const statements = await recordStatements(() => dashboard.run(query));
    return statements.filter(({ values }) => JSON.stringify(values).includes('graph-')).length;
  };
  // Calls that arrive later than others become another statement.
  expect(await count(12)).toBeLessThan((await count(2)) + 6);
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

  test.each([...member, ...others])(
    '%s requires membership under viewer as at the root, and under user only platform:read',
    async (field) => {
      const single = as(() => signToken({ sub: alice }));
      const nested = await single.graphql(`{ viewer { id ${field} } }`);
      const root = await single.graphql(`{ ${field} }`);
      const extensionsOf = ({ errors }: typeof root) => errors.map(({ extensions }) => extensions);
      expect(extensionsOf(nested)).toEqual(extensionsOf(root));
      expect(nested.errors).toHaveLength(member.includes(field) ? 1 : 0);
      expect(nested.data.viewer.id).toBe(alice);

      const query = `{ user(id: "${bob}") { ${field} } }`;
      await dashboard.run(query);
      const own = as(() => signToken({ sub: bob, org_id: 'acme', scope: 'account:write platform:write' }));
      await expect(own.run(query)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    },
  );

  test('the error for a platform token names user(id:)', async () => {
    const { errors } = await dashboard.graphql('{ notifications { totalCount } viewer { id } }');
    const message =
      'This operation requires a token with the scope "account:read". With "platform:read", use the field `user(id:)` of the GraphQL API.';
    expect(errors.map((error) => error.message)).toEqual([message, message]);
  });

  test('only the user of a workspace reads its preview token', async () => {
    const field = 'workspaces { nodes { previewToken } }';
    const token = `preview-of-${alice}`;
    expect(JSON.stringify(await as(alice).run(`{ viewer { ${field} } }`))).toContain(token);
    for (const who of [dashboard, as(() => signToken({ sub: alice, scope: 'platform:read' }))]) {
      const { user } = await who.run(`{ user(id: "${alice}") { ${field} } }`);
      expect(user.workspaces.nodes).toEqual([{ previewToken: null }, { previewToken: null }]);
    }
  });

  test('an unknown user is null, but the caller always exists', async () => {
    expect(await dashboard.run('{ user(id: "graph-unknown") { id } }')).toEqual({ user: null });
    expect(await as('graph-unknown').run('{ viewer { id notificationCounts { total } } }')).toEqual({
      viewer: { id: 'graph-unknown', notificationCounts: { total: 0 } },
    });
  });
});

describe('limits', () => {
  const limits = { RATE_LIMIT_READS_PER_MINUTE: '100', RATE_LIMIT_PLATFORM_PER_MINUTE: '1000' };
  const limited = useGateway(limits, gateway);

  test('each field that leads to records costs a read under viewer, and a platform operation under user', async () => {
    const fields =
      '{ id ref notifications { totalCount } a: workspaces { totalCount } b: workspaces { totalCount } }';
    for (const [who, query, left] of [
      ['charged', `{ viewer ${fields} }`, '96'],
      [readPlatform, `{ user(id: "${alice}") ${fields} }`, '996'],
      [readPlatform, `{ platform { users(prefix: "graph-", first: 12) { nodes ${fields} } } }`, '958'],
    ] as const) {
      const { headers } = await limited.as(who).graphql(query);
      expect(headers.get('RateLimit-Remaining'), query).toBe(left);
    }
  });

  test('the events of a subscription are not charged', async () => {
    const user = limited.as('streaming');
    const fields = '... on UserNotification { id ref deliveries { ref channel } task { workspace { id } } }';
    const stream = await user.follow(`subscription { notificationEvents { notification { ${fields} } } }`);
    const [workspaceId] = await putWorkspaces(limited, 'streaming', [workspaceInput()]);
    for (const id of ['one', 'two']) {
      await publish(limited, 'streaming', 'task_failed', { id, task: { id, projectId: 'p', workspaceId } });
      const { data, errors } = await stream.take();
      expect(errors).toEqual([]);
      const { notification } = data.notificationEvents;
      expect(notification).toMatchObject({ id, task: { workspace: { id: workspaceId } } });
      expect(notification.deliveries).toHaveLength(3);
    }
    const { headers } = await user.graphql('{ viewer { id } }');
    expect(headers.get('RateLimit-Remaining')).toBe('98');
    stream.close();
  });

  test('a failing field leaves the others', async () => {
    const fields = 'notifications(first: 101) { totalCount } workspaces { totalCount }';
    const { data, errors } = await dashboard.graphql(`{ user(id: "${alice}") { ${fields} } }`);
    expect(data.user).toEqual({ notifications: null, workspaces: { totalCount: 2 } });
    const extensions = { code: 'VALIDATION_FAILED' };
    expect(errors).toMatchObject([{ path: ['user', 'notifications'], extensions }]);
  });

  test.each(['first', 'last'])('a list of a listed user has at most 20 records, by %s', async (argument) => {
    const list = `workspaces(${argument}: 21) { totalCount }`;
    const query = `{ platform { users(prefix: "graph-00", first: 1) { nodes { ${list} } } } }`;
    await expect(dashboard.run(query)).rejects.toMatchObject(
      refused('VALIDATION_FAILED', [argument, 'must be at most 20 in a list inside another list']),
    );
  });

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
    const data = await as(user).run(
      `{ notification(id: "n") { __typename ... on UserNotification { ref } } workspaces { nodes { ref } }
         viewer { ref } notificationCounts { ref } contact { ref } editorAuth { ref } notificationPreferences { ref } }`,
    );
    return Array.from(JSON.stringify(data).matchAll(/"ref":"([^"]+)/g), ([, ref]) => ref);
  };
  const { id } = workspaceInput();
  const fill = async (user: string) => {
    await publish(gateway, user, 'task_failed', { id: 'n' });
    await putWorkspaces(gateway, user, [workspaceInput({ id })]);
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

  test('is the same in every place where a record is returned, and never an argument', async () => {
    const { ref } = await as(alice).notification({ id: 'failed' });
    expect(await as(alice).dismiss({ id: 'failed' })).toMatchObject({ ref });

    const types = Object.values(schema.getTypeMap());
    const inputs = types.filter(isInputObjectType).flatMap((type) => Object.keys(type.getFields()));
    const fields = types.filter(isObjectType).flatMap((type) => Object.values(type.getFields()));
    const args = fields.flatMap((field) => field.args.map(({ name }) => name));
    expect([...inputs, ...args]).not.toContain('ref');
  });
});
