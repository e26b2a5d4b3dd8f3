import { randomUUID } from 'node:crypto';
import { OperationTypeNode } from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Example } from '../../src/pages/graphiql-examples.ts';
import {
  type DevelopmentGateway,
  examples,
  resolveVariables,
  runExample,
  signTokenFor,
  splitOperations,
  startExampleGateway,
} from '../support/development.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss as dismissElsewhere } from '../support/inbox.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member, platform, signToken } from '../support/tokens.ts';
import { type CachingClient, describeCaches } from './caching-clients.ts';

const NOTIFICATION =
  '... on UserNotification { ref id kind status createdAt task { id projectId } request { state } }';
const PAGE = `nodes { ${NOTIFICATION} } pageInfo { hasNextPage endCursor }`;
const ACTIVE = `query ($first: Int, $after: String) {
  notifications(first: $first, after: $after, filter: { statuses: [ACTIVE] }) { ${PAGE} }
}`;
const WORKSPACE = 'ref id status projectId createdAt';
const EVENTS = `subscription ($after: String, $userId: ID) { notificationEvents(after: $after, userId: $userId) {
  cursor counts { ref total } notification { ${NOTIFICATION} }
} }`;
const ACCOUNT_EVENTS = `subscription ($after: String) { accountEvents(after: $after) { cursor content { __typename
  ... on NotificationEvent { notification { ${NOTIFICATION} } } ... on NotificationCounts { ref total }
  ... on WorkspaceEvent { workspaceId workspace { ${WORKSPACE} } }
  ... on EditorAuthEvent { editorAuth { ref auth { type } } }
} } }`;

const gateway = useGateway();

describeCaches('an inbox in the cache', (create) => {
  let user: string;
  let client: CachingClient;
  beforeEach(async () => {
    user = randomUUID();
    client = create(gateway.address, await member(user));
  });

  /** Publishes notifications and returns their IDs, newest first. */
  async function publishMany(count: number): Promise<string[]> {
    const ids = [];
    for (let i = 0; i < count; i += 1) ids.unshift((await publish(gateway, user)).id);
    return ids;
  }

  /** Returns the IDs of a list that the cache contains. */
  async function readIds(query: string, variables: Record<string, unknown> = {}) {
    const { viewer, notifications } = await client.readCached(query, variables);
    return (viewer?.notifications ?? notifications).nodes.map(({ id }: { id: string }) => id);
  }

  test('joins the pages of a list', async () => {
    const ids = await publishMany(5);
    const { notifications } = await client.fetch(ACTIVE, { first: 2 });
    const { endCursor } = notifications.pageInfo;
    const second = await client.fetch(ACTIVE, { first: 2, after: endCursor });
    expect(await readIds(ACTIVE, { first: 2 })).toEqual(ids.slice(0, 4));

    await client.fetch(ACTIVE, { first: 2, after: second.notifications.pageInfo.endCursor });
    expect(await client.readCached(ACTIVE, { first: 2 })).toMatchObject({
      notifications: { nodes: ids.map((id) => ({ id })), pageInfo: { hasNextPage: false } },
    });
  });

  test('shows no empty list where only the number of records was loaded', async () => {
    await publishMany(1);
    for (const list of ['notifications', 'notifications(first: 5)']) {
      await client.fetch(`{ ${list} { totalCount } }`);
      expect((await client.readCached(`{ ${list} { ${PAGE} } }`))?.notifications ?? null).toBeNull();
      await client.fetch(`{ ${list} { ${PAGE} } }`);
      expect(await client.readCached(`{ ${list} { totalCount ${PAGE} } }`)).toMatchObject({
        notifications: { totalCount: 1, nodes: [{ status: 'ACTIVE' }] },
      });
    }
  });

  test('hides a dismissed notification from active ones only', async () => {
    const [id = '', other] = await publishMany(2);
    const all = `{ notifications(first: 20) { ${PAGE} edges { node { ... on UserNotification { ref id } } } } }`;
    await client.fetch(ACTIVE, { first: 20 });
    await client.fetch(all);

    await client.mutate(`mutation { dismissNotification(input: { id: "${id}" }) {
      notification { ... on UserNotification { ref status } }
    } }`);

    expect(await readIds(ACTIVE, { first: 20 })).toEqual([other]);
    expect(await client.readCached(all)).toMatchObject({
      notifications: {
        nodes: [{ id, status: 'DISMISSED' }, { id: other }],
        edges: [{ node: { id } }, { node: { id: other } }],
      },
    });
  });

  /** Returns the cursor of an account's latest changes. */
  async function currentAccountCursor() {
    const [start] = await client.follow(ACCOUNT_EVENTS, {}, 1);
    return start.accountEvents.cursor;
  }

  test.each([
    { name: 'notificationEvents', query: EVENTS, events: 6, getStart: () => currentCursor(gateway, user) },
    // A start, and the counts.
    { name: 'accountEvents', query: ACCOUNT_EVENTS, events: 8, getStart: currentAccountCursor },
  ])('contains the same lists after $name as the gateway', async ({ query, events, getStart }) => {
    const start = await getStart();
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const old = await publishMany(4);
    const lists = [
      'notifications(first: 2, filter: { statuses: [ACTIVE] })',
      'notifications(first: 20, filter: { statuses: [ACTIVE], kinds: [PLAN_REQUESTED] })',
      'notifications(first: 20, filter: { statuses: [ACTIVE], kinds: [TASK_FAILED] })',
      'notifications(first: 20, filter: { statuses: [DISMISSED] })',
      'notifications(first: 20, filter: { requestStates: [OPEN] })',
      'notifications(first: 20, filter: { projectIds: ["another"] })',
      'notifications(first: 20, filter: { taskIds: ["new"] })',
      `notifications(first: 20, filter: { createdFrom: "${tomorrow}" })`,
      `notifications(first: 20, filter: { createdBefore: "${tomorrow}" })`,
      'notifications(first: 20)',
      'notifications',
    ].flatMap((list) => [`{ ${list} { ${PAGE} } }`, `{ viewer { ref ${list} { ${PAGE} } } }`]);
    for (const list of lists) await client.fetch(list);
    await client.fetch('{ notificationCounts { ref total } }');
    const failed = await publish(gateway, user, 'task_failed', { task: { id: 'new', projectId: 'another' } });
    const [newest = ''] = await publishMany(1);
    await dismissElsewhere(gateway, user, [newest, old[1] ?? '']);

    // Begins with the notifications that the lists contain already.
    await client.follow(query, { after: start }, events);

    const cached = await Promise.all(lists.map((list) => readIds(list)));
    expect(await client.readCached('{ notificationCounts { ref total } }')).toMatchObject({
      notificationCounts: { total: 4 },
    });
    const fresh = create(gateway.address, await member(user));
    for (const [index, list] of lists.entries()) {
      const { viewer, notifications } = await fresh.fetch(list);
      const ids = (viewer?.notifications ?? notifications).nodes.map(({ id }: { id: string }) => id);
      // The first page has a place for another notification, which was not loaded.
      if (index < 2) expect(cached[index], list).toEqual([failed.id, old[0]]);
      else expect(cached[index], list).toEqual(ids);
    }
  });

  const all = `{ workspaces(first: 20) { nodes { ${WORKSPACE} } pageInfo { hasNextPage endCursor } } }`;
  const running = `{ viewer { ref workspaces(first: 20, filter: { statuses: [RUNNING] }) {
    nodes { ${WORKSPACE} } pageInfo { hasNextPage endCursor }
  } } }`;

  /** Returns the IDs and statuses of a list that the cache contains. */
  async function readStates(query: string) {
    const { viewer, workspaces } = await client.readCached(query);
    const { nodes } = viewer?.workspaces ?? workspaces;
    return nodes.map(({ id, status }: Record<string, string>) => [id, status]);
  }

  /** Expects a running workspace and another, newest first, in the lists of the cache. */
  async function expectStates(ofRunning: unknown[], other: unknown[]) {
    expect(await readStates(all)).toEqual([ofRunning, other]);
    expect(await readStates(running)).toEqual([ofRunning]);
  }

  /** Three workspaces, oldest first. */
  const createWorkspaces = () =>
    [1, 2, 3].map((day) => workspaceInput({ createdAt: `2026-05-0${day}T00:00:00.000Z` }));

  test('adds, updates, hides and removes workspaces by workspaceEvents', async () => {
    const [first, second, third] = createWorkspaces();
    await putWorkspaces(gateway, user, [{ ...first }, { ...third }]);
    for (const query of [all, running]) await client.fetch(query);
    await putWorkspaces(gateway, user, [{ ...second }]);
    const followed = client.follow(
      `subscription { workspaceEvents { workspaceId workspace { ${WORKSPACE} } } }`,
      {},
      5,
    );
    await eventually(async () => expect(await readStates(all)).toHaveLength(3));
    const updatedAt = new Date(Date.now() + 1000).toISOString();
    await putWorkspaces(gateway, user, [{ ...first, status: 'STOPPED', updatedAt }]);
    await eventually(async () => expect(await readStates(running)).toHaveLength(2));
    await gateway.as(platform).deleteWorkspace({ userId: user, id: third?.id, deletedAt: updatedAt });
    await followed;

    await expectStates([second?.id, 'RUNNING'], [first?.id, 'STOPPED']);
  });

  test('applies changes of workspaces and of the editor connection by accountEvents', async () => {
    const [first, second, third] = createWorkspaces();
    await putWorkspaces(gateway, user, [{ ...first }, { ...third }]);
    const editor = '{ editorAuth { ref auth { type } } }';
    for (const query of [all, running, editor]) await client.fetch(query);
    const after = await currentAccountCursor();
    const updatedAt = new Date(Date.now() + 1000).toISOString();
    await putWorkspaces(gateway, user, [{ ...second }, { ...first, status: 'STOPPED', updatedAt }]);
    await gateway.as(platform).deleteWorkspace({ userId: user, id: third?.id, deletedAt: updatedAt });
    await gateway.as(user).connectEditor({ accessToken: 'a', refreshToken: 'r' });

    // A start, three workspaces, the editor connection.
    await client.follow(ACCOUNT_EVENTS, { after }, 5);

    await expectStates([second?.id, 'RUNNING'], [first?.id, 'STOPPED']);
    expect(await client.readCached(editor)).toMatchObject({ editorAuth: { auth: { type: 'SUBSCRIPTION' } } });
  });

  test("keeps another user's notifications out of the caller's lists", async () => {
    const after = await currentCursor(gateway, user);
    const [id] = await publishMany(1);
    const scope = 'account:read platform:read';
    client = create(gateway.address, await signToken({ sub: randomUUID(), scope }));
    await client.fetch(ACTIVE, { first: 20 });

    const [event] = await client.follow(EVENTS, { userId: user, after }, 1);

    expect(JSON.stringify(event)).toContain(id);
    expect(await readIds(ACTIVE, { first: 20 })).toEqual([]);
  });
});

/** The operations of each caller share a cache, as in an application. */
const callers = Map.groupBy(examples, ({ group }) => group);

/** Signs a token with which all of a caller's examples can be run. */
function signCallerToken(gateway: DevelopmentGateway, group: readonly Example[]): Promise<string> {
  const scopes = group.flatMap(({ query }) => /--scope (\S+)$/m.exec(query)?.[1] ?? []);
  const [, user = ''] = /--sub (\S+)/.exec(group[0]?.query ?? '') ?? [];
  return signTokenFor(gateway, `--sub ${user} --org acme`, [...new Set(scopes)].join(' '));
}

/** Returns the cursor after which a subscription delivers the next change; the platform feed begins with stored events. */
async function findCursor(client: CachingClient, subscription: string, values: Record<string, unknown>) {
  if (subscription.includes('platformEvents')) return null;
  if (!subscription.includes('accountEvents'))
    return (await client.fetch('{ notificationCounts { ref cursor } }')).notificationCounts.cursor;
  const [start] = await client.follow(subscription, values, 1);
  return start.accountEvents.cursor;
}

describeCaches('the cache', (create) => {
  let gateway: DevelopmentGateway;
  beforeAll(async () => {
    gateway = await startExampleGateway();
  });
  afterAll(() => gateway.close());

  describe.each([...callers])('with the examples of %s', (_group, group) => {
    let client: CachingClient;
    beforeAll(async () => {
      client = create(gateway.address, await signCallerToken(gateway, group));
    });

    test.each(group)('stores the result of $name', async ({ query, variables }) => {
      const values = await resolveVariables(gateway, variables);
      for (const { type, document } of splitOperations(query)) {
        if (type === OperationTypeNode.MUTATION) await client.mutate(document, values);
        if (type === OperationTypeNode.SUBSCRIPTION) {
          const after = await findCursor(client, document, values);
          await runExample(gateway, 'publish-notification');
          // A stream of the account begins with a start; the notification and the counts follow.
          const events = document.includes('accountEvents') ? 3 : 1;
          await client.follow(document, { ...values, after }, events);
        }
        if (type === OperationTypeNode.QUERY) {
          const data = await client.fetch(document, values);
          expect(await client.readCached(document, values)).toEqual(data);
        }
      }
    });
  });
});
