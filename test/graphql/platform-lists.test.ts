import { beforeAll, describe, expect, test } from 'vitest';
import { encodeCursor } from '../../src/values/cursor.ts';
import { refused } from '../support/as.ts';
import { insertNotifications } from '../support/bulk-records.ts';
import { addTargets, putContact, unreachableProviders } from '../support/delivery.ts';
import { useGateway } from '../support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway({ ...unreachableProviders, DELIVERY: 'false' });
const { as } = gateway;
const dashboard = as(() => platform('platform:read'));

/** Reads a list with a filter, given as GraphQL text. */
const list = async (field: string, filter: string, selection: string, page = 'first: 100') =>
  (await dashboard.run(`{ platform { ${field}(${page} filter: ${filter || '{}'}) { ${selection} } } }`))
    .platform[field];

/** Reads all pages of a list, whose total count must be the number of its records, up to 10,000. */
async function listAll(field: string, filter: string, node: string, size = 2) {
  const nodes: Record<string, unknown>[] = [];
  const selection = `totalCount nodes { ${node} } edges { cursor } pageInfo { hasNextPage endCursor }`;
  for (let after = ''; ; ) {
    const connection = await list(field, filter, selection, `first: ${size} ${after}`);
    expect(connection.nodes.length).toBeLessThanOrEqual(size);
    expect(connection.edges).toHaveLength(connection.nodes.length);
    nodes.push(...connection.nodes);
    const { hasNextPage, endCursor } = connection.pageInfo;
    if (!hasNextPage) {
      expect(connection.totalCount).toBe(nodes.length);
      return nodes;
    }
    after = `after: "${endCursor}"`;
  }
}

const key = '... on UserNotification { userId id }';
const toKey = ({ userId, id, notificationId }: Record<string, unknown>) =>
  `${userId}/${id ?? notificationId}`;

const age = (where: string, interval: string) =>
  gateway.database.sql(`update notification set created_at = now() - interval '${interval}' where ${where}`);

/** Inserts active notifications of different tasks, each a millisecond older than the one before. */
const insert = (user: string, count: number, columns: Record<string, string>) =>
  insertNotifications(gateway.database, user, count, {
    status: `'active'`,
    task_id: `'t-' || n`,
    created_at: `now() - n * interval '1 ms'`,
    ...columns,
  });

describe('notifications', () => {
  beforeAll(async () => {
    const task = (id: string, projectId: string) => ({ task: { id, projectId } });
    for (const [user, project] of [
      ['n-a', 'p-1'],
      ['n-b', 'p-2'],
      ['n-c', 'p-1'],
    ] as const) {
      // The same IDs for each user.
      await publish(gateway, user, 'task_failed', { id: 'failed', ...task('t-1', project) });
      await publish(gateway, user, 'plan_requested', { id: 'plan', ...task('t-1', project) });
      await publish(gateway, user, 'task_failed', { id: 'old', ...task('t-2', project) });
      await as(user).dismiss({ id: 'plan' });
    }
    await age(`id = 'old'`, '25 h');
    // The position of equally old records depends on the user, then on the ID.
    await gateway.database.sql(`update notification set created_at = $1 where id <> 'old'`, [hourAgo]);
    // The later one withdraws the request of the earlier one.
    for (const id of ['replaced', 'waiting'])
      await publish(gateway, 'n-b', 'question_requested', { id, ...task('t-3', 'p-2') });
    await as('n-b').dismiss({ id: 'waiting' });
    await age(`id = 'replaced'`, '20 days');
    await age(`id = 'waiting'`, '40 days');
  });

  const recent = ['n-c/plan', 'n-c/failed', 'n-b/plan', 'n-b/failed', 'n-a/plan', 'n-a/failed'];
  const open = ['n-c/plan', 'n-b/plan', 'n-a/plan', 'n-b/waiting'];
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const hourAgo = new Date(Date.now() - 3_600_000);
  const later = new Date(hourAgo.getTime() + 1).toISOString();

  test.each<[filter: string, expected: string[]]>([
    ['', recent],
    ['{ kinds: [TASK_FAILED] }', ['n-c/failed', 'n-b/failed', 'n-a/failed']],
    ['{ kinds: [TASK_FAILED, TASK_FAILED, PLAN_REQUESTED] }', recent],
    ['{ statuses: [DISMISSED] }', ['n-c/plan', 'n-b/plan', 'n-a/plan']],
    ['{ statuses: [DISMISSED], kinds: [TASK_FAILED] }', []],
    ['{ projectIds: ["p-1"] }', ['n-c/plan', 'n-c/failed', 'n-a/plan', 'n-a/failed']],
    ['{ projectIds: ["p-1"], statuses: [ACTIVE] }', ['n-c/failed', 'n-a/failed', 'n-c/old', 'n-a/old']],
    ['{ projectIds: ["p"] }', []],
    ['{ userIds: ["n-b", "n-a"] }', ['n-b/plan', 'n-b/failed', 'n-a/plan', 'n-a/failed']],
    ['{ userIds: ["n-b"], statuses: [ACTIVE] }', ['n-b/failed', 'n-b/old']],
    ['{ userIds: ["n-b", "n-c"], projectIds: ["p-1"], kinds: [TASK_FAILED] }', ['n-c/failed']],
    ...['kinds', 'statuses', 'projectIds', 'userIds', 'requestStates'].map((name): [string, string[]] => [
      `{ ${name}: [] }`,
      [],
    ]),
    [`{ since: "${daysAgo(3)}", kinds: [TASK_FAILED], userIds: ["n-b"] }`, ['n-b/failed', 'n-b/old']],
    ['{ requestStates: [OPEN] }', open],
    // `createdBefore` excludes its time.
    [`{ requestStates: [OPEN, OPEN], createdBefore: "${later}" }`, open],
    [`{ requestStates: [OPEN], createdBefore: "${hourAgo.toISOString()}" }`, ['n-b/waiting']],
    [`{ requestStates: [OPEN], since: "${daysAgo(3)}" }`, open.slice(0, -1)],
    ['{ requestStates: [OPEN], projectIds: ["p-2"] }', ['n-b/plan', 'n-b/waiting']],
    ['{ requestStates: [OPEN], userIds: ["n-b", "n-a"] }', ['n-b/plan', 'n-a/plan', 'n-b/waiting']],
    ['{ requestStates: [OPEN], statuses: [ACTIVE] }', []],
    ['{ requestStates: [OPEN, WITHDRAWN] }', open.slice(0, -1)],
    [`{ requestStates: [OPEN, WITHDRAWN], since: "${daysAgo(25)}" }`, [...open.slice(0, -1), 'n-b/replaced']],
    [`{ createdBefore: "${later}", userIds: ["n-b"] }`, ['n-b/plan', 'n-b/failed']],
    [`{ createdBefore: "${hourAgo.toISOString()}" }`, []],
  ])('lists and counts those that match %s, newest first', async (filter, expected) => {
    expect((await listAll('notifications', filter, key)).map(toKey)).toEqual(expected);
  });

  test('counts at most 10,000', async () => {
    await insert('n-many', 10_001, { kind: `'task_response_ready'`, project_id: `'p-many'` });
    for (const filter of ['kinds: [TASK_RESPONSE_READY]', 'userIds: ["n-many"]', 'projectIds: ["p-many"]']) {
      expect(await list('notifications', `{ ${filter} }`, 'totalCount')).toEqual({ totalCount: 10_000 });
    }
    await gateway.database.sql(`delete from notification where user_id = 'n-many'`);
  });

  test('a page that ends because few records match continues', async () => {
    await insert('n-few-', 6000, {
      user_id: '$1::text || n % 7',
      kind: `case n % 3 when 0 then 'task_failed' else 'plan_requested' end`,
      project_id: `case n % 1000 when 0 then 'p-few' else 'p' end`,
    });
    const filter = '{ projectIds: ["p-few"] }';
    const { nodes, pageInfo } = await list(
      'notifications',
      filter,
      `nodes { ${key} } pageInfo { hasNextPage }`,
    );
    expect(pageInfo.hasNextPage).toBe(true);
    expect(nodes.length).toBeLessThan(6);
    const all = await listAll('notifications', filter, key, 50);
    expect(all.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `n-${n * 1000}`));
    await gateway.database.sql(`delete from notification where user_id like 'n-few-%'`);
  });
});

describe('deliveries', () => {
  beforeAll(async () => {
    await addTargets(gateway, 'd-a');
    await putContact(gateway, 'd-b', { chatMemberId: 'U-d-b' });
    for (const user of ['d-a', 'd-b', 'd-c']) await publish(gateway, user, 'task_failed', { id: 'n-1' });
    await as('d-c').updatePreferences({ preferences: [{ emailEnabled: false }] });
    await publish(gateway, 'd-c', 'task_failed', { id: 'n-2' });
    await gateway.database.sql(
      `update delivery set state = 'failed', reason = 'message_rejected' where user_id = 'd-a' and channel = 'email'`,
    );
    await publish(gateway, 'd-old', 'task_failed', { id: 'n-1' });
    await age(`user_id = 'd-old'`, '25 h');
  });

  const users = '"d-a", "d-b", "d-c"';
  const show = ({ userId, notificationId, channel, state, reason }: Record<string, unknown>) =>
    [userId, notificationId, channel, state, reason].filter((part) => part !== null).join(' ');
  const fields = 'userId notificationId channel state reason';

  const skipped = (prefix: string, reason: string) => `${prefix} SKIPPED ${reason}`;
  const failed = 'd-a n-1 EMAIL FAILED MESSAGE_REJECTED';
  const skippedEmails = [
    skipped('d-c n-2 EMAIL', 'CHANNEL_DISABLED'),
    ...['d-c n-1 EMAIL', 'd-b n-1 EMAIL'].map((prefix) => skipped(prefix, 'NO_TARGET')),
  ];

  test.each([
    [
      `{ userIds: [${users}] }`,
      [
        skipped('d-c n-2 PUSH', 'NO_TARGET'),
        skipped('d-c n-2 EMAIL', 'CHANNEL_DISABLED'),
        skipped('d-c n-2 CHAT_DM', 'NO_TARGET'),
        ...['PUSH', 'EMAIL', 'CHAT_DM'].map((channel) => skipped(`d-c n-1 ${channel}`, 'NO_TARGET')),
        ...['PUSH', 'EMAIL'].map((channel) => skipped(`d-b n-1 ${channel}`, 'NO_TARGET')),
        ...['d-b n-1 CHAT_DM PENDING', 'd-a n-1 PUSH PENDING', failed, 'd-a n-1 CHAT_DM PENDING'],
      ],
    ],
    [`{ userIds: ["d-a"], states: [FAILED] }`, [failed]],
    [`{ userIds: [${users}], channels: [EMAIL], states: [SKIPPED] }`, skippedEmails],
    ['{ userIds: ["d-old"] }', []],
    ['{ userIds: [] }', []],
    ['{ states: [], channels: [] }', []],
    ['{ states: [FAILED] }', [failed]],
  ])('lists and counts those that match %s', async (filter, expected) => {
    for (const size of [1, 2, 50])
      expect((await listAll('deliveries', filter, fields, size)).map(show)).toEqual(expected);
  });
});

test('lists and counts the workspaces of all users', async () => {
  const createdAt = '2026-05-04T10:00:00.000Z';
  for (const [user, status] of Object.entries({ 'w-a': 'RUNNING', 'w-b': 'ERROR', 'w-c': 'RUNNING' }))
    await putWorkspaces(gateway, user, [workspaceInput({ status, createdAt })]);
  await gateway.database.sql(
    `update workspace set error_message = repeat('x', 900000) where user_id = 'w-b'`,
  );
  const read = async (filter: string) =>
    (await listAll('workspaces', filter, 'userId status errorMessage')).map(({ userId }) => userId);
  expect(await read('')).toEqual(['w-c', 'w-b', 'w-a']);
  expect(await read('{ statuses: [RUNNING] }')).toEqual(['w-c', 'w-a']);
  for (const filter of ['{ statuses: [STOPPED] }', '{ statuses: [] }'])
    expect(await read(filter)).toEqual([]);
  const [failed] = await listAll('workspaces', '{ statuses: [ERROR] }', 'errorMessage');
  expect(failed?.errorMessage).toHaveLength(900_000);
});

describe('editorCredentials', () => {
  beforeAll(async () => {
    for (const user of ['e-a', 'e-b', 'e-c', 'e-d'])
      await as(user).connectEditor({ accessToken: 'secret-access', refreshToken: 'secret-refresh' });
    const { sql } = gateway.database;
    await sql(`update editor_credential set reauth_reason = 'token_revoked' where user_id in ('e-b', 'e-d')`);
    await sql(`update editor_credential set key_id = 'lost' where user_id in ('e-c', 'e-d')`);
    await sql(`update editor_credential set expires_at = '2026-05-04T10:00:00Z' where user_id = 'e-a'`);
    await sql(`update editor_credential set expires_at = '2026-05-05T10:00:00Z' where user_id = 'e-b'`);
    await as('e-none').disconnectEditor();
  });

  test.each([
    ['', ['e-d UNREADABLE', 'e-c UNREADABLE', 'e-b NEEDS_REAUTH', 'e-a CONNECTED']],
    ['{ states: [NEEDS_REAUTH] }', ['e-b NEEDS_REAUTH']],
    ['{ states: [UNREADABLE] }', ['e-d UNREADABLE', 'e-c UNREADABLE']],
    ['{ states: [CONNECTED, NEEDS_REAUTH] }', ['e-b NEEDS_REAUTH', 'e-a CONNECTED']],
    ['{ states: [] }', []],
    ['{ expiresBefore: "2026-05-05T10:00:00Z" }', ['e-a CONNECTED']],
    ['{ states: [NEEDS_REAUTH], expiresBefore: "2026-05-05T10:00:00.001Z" }', ['e-b NEEDS_REAUTH']],
  ])('lists and counts those that match %s', async (filter, expected) => {
    const nodes = await listAll('editorCredentials', filter, 'userId state reauthReason expiresAt', 1);
    expect(nodes.map(({ userId, state }) => `${userId} ${state}`)).toEqual(expected);
    const reasons = { CONNECTED: null, NEEDS_REAUTH: 'TOKEN_REVOKED', UNREADABLE: 'CREDENTIAL_UNREADABLE' };
    for (const { state, reauthReason } of nodes) {
      expect(reauthReason).toBe(Reflect.get(reasons, String(state)));
    }
  });
});

describe('users', () => {
  /** Ordered by code point: upper case, lower case, characters outside the Basic Multilingual Plane. */
  const ids = ['u-Al', 'u-al', 'u-al%', 'u-al-1', 'u-al_', 'u-ali', 'u-al\u{ffef}', 'u-al\u{10ffff}', 'u-am'];
  beforeAll(async () => {
    for (const id of ids.toReversed()) await publish(gateway, id, 'task_failed');
  });

  async function users(
    args: string,
    selection = 'nodes { id } totalCount pageInfo { hasNextPage endCursor }',
  ) {
    const query = `{ platform { users${args && `(${args})`} { ${selection} } } }`;
    return (await dashboard.run(query)).platform.users;
  }
  const nodes = (list: string[]) => list.map((id) => ({ id }));

  test.each<[prefix: string, expected: string[]]>([
    ['u-', ids],
    ['u-al', ids.slice(1, 8)],
    ['u-A', ['u-Al']],
    ...['u-al_', 'u-al%', 'u-al\u{ffef}', 'u-al\u{10ffff}'].map((id): [string, string[]] => [id, [id]]),
    ...['u-\u{10ffff}', 'u-\u{d7ff}', 'u-alice'].map((id): [string, string[]] => [id, []]),
  ])('with the prefix %s are returned by code point, and counted', async (prefix, expected) => {
    const found = await users(`prefix: "${prefix}"`);
    expect(found).toMatchObject({ nodes: nodes(expected), totalCount: expected.length });
  });

  test('are read page by page, each with a cursor', async () => {
    const all = (await users('')).nodes.map(({ id }: { id: string }) => id);
    expect((await users('prefix: ""')).nodes).toEqual(nodes(all));
    const first = await users('prefix: "u-al", first: 5');
    expect(first).toMatchObject({
      nodes: nodes(ids.slice(1, 6)),
      totalCount: 7,
      pageInfo: { hasNextPage: true },
    });
    const second = await users(`prefix: "u-al", first: 5, after: "${first.pageInfo.endCursor}"`);
    expect(second).toMatchObject({ nodes: nodes(ids.slice(6, 8)), pageInfo: { hasNextPage: false } });

    const selection = 'edges { cursor node { id } } pageInfo { startCursor endCursor hasPreviousPage }';
    const cursor = encodeCursor(['u-am']);
    expect(await users('prefix: "u-am"', selection)).toEqual({
      edges: [{ cursor, node: { id: 'u-am' } }],
      pageInfo: { startCursor: cursor, endCursor: cursor, hasPreviousPage: false },
    });
    const none = { startCursor: null, endCursor: null, hasPreviousPage: false };
    expect(await users('prefix: "x"', selection)).toEqual({ edges: [], pageInfo: none });
  });

  test('have their records, and are omitted when they are deleted', async () => {
    for (const id of ['n-1', 'n-2']) await publish(gateway, 'counted-1', 'plan_requested', { id });
    await as('counted-1').dismiss({ id: 'n-1' });
    await putWorkspaces(gateway, 'counted-2', [workspaceInput(), workspaceInput()]);
    const read = () =>
      users('prefix: "counted-"', 'nodes { id notificationCounts { total } workspaces { totalCount } }');
    const [first, second] = [
      { id: 'counted-1', notificationCounts: { total: 1 }, workspaces: { totalCount: 0 } },
      { id: 'counted-2', notificationCounts: { total: 0 }, workspaces: { totalCount: 2 } },
    ];
    expect(await read()).toEqual({ nodes: [first, second] });
    await deleteUser(gateway, 'counted-1');
    expect(await read()).toEqual({ nodes: [second] });
  });
});

const tooLongAgo = new Date(Date.now() - 31 * 86_400_000).toISOString();

test.each([
  ['users(first: 0)', 'first'],
  [`users(after: "${encodeCursor([1])}")`, 'after'],
  [`users(after: "${encodeCursor([''])}")`, 'after'],
  [`users(prefix: "${'x'.repeat(256)}")`, 'prefix'],
  ['notifications(first: 101)', 'first'],
  ['notifications(after: "x")', 'after'],
  [`notifications(after: "${encodeCursor([1, 'n'])}")`, 'after'],
  [`workspaces(after: "${encodeCursor([1, 'n', 'user'])}")`, 'after'],
  [`notifications(filter: { since: "${tooLongAgo}" })`, 'filter.since'],
  [`deliveries(filter: { since: "${tooLongAgo}" })`, 'filter.since'],
  ['notifications(filter: { userIds: [""] })', 'filter.userIds[0]'],
  [`notifications(filter: { userIds: [${Array(101).fill('"u"').join(' ')}] })`, 'filter.userIds'],
  [`deliveries(filter: { states: [${Array(101).fill('FAILED').join(' ')}] })`, 'filter.states'],
])('rejects %s, naming the argument, and returns the other fields', async (field, location) => {
  const query = `{ platform { ${field} { totalCount } others: workspaces { totalCount } } }`;
  const { errors, data } = await dashboard.graphql(query);
  expect(errors).toMatchObject([{ extensions: refused('VALIDATION_FAILED', location) }]);
  const [name = ''] = field.split('(');
  expect(data.platform).toEqual({ [name]: null, others: { totalCount: expect.any(Number) } });
});

test('a cursor of a list of one user is not a cursor of a list of all users, nor the reverse', async () => {
  const { edges } = await list('notifications', '{ userIds: ["n-a"] }', 'edges { cursor }');
  const own = as('n-a').notifications({ first: 1, after: edges[0].cursor });
  await expect(own).rejects.toMatchObject(refused('VALIDATION_FAILED', 'after'));
});
