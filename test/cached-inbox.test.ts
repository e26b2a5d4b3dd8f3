import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CachingClient, cachingClients } from './clients/caching-clients.ts';
import { expectNoWarnings } from './support/console.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { currentCursor, dismiss as dismissElsewhere } from './support/inbox.ts';
import { publish } from './support/records.ts';
import { member, signToken } from './support/tokens.ts';

const PAGE = `nodes { ... on UserNotification { ref id status createdAt } }
  pageInfo { hasNextPage endCursor }`;
const ACTIVE = `query ($first: Int, $after: String) {
  notifications(first: $first, after: $after, filter: { statuses: [ACTIVE] }) { ${PAGE} }
}`;
const EVENTS = `subscription ($after: String, $userId: ID) { notificationEvents(after: $after, userId: $userId) {
  cursor counts { ref total } notification { ... on UserNotification { ref id kind status createdAt } }
} }`;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

describe.each(cachingClients)('an inbox in the documented cache of %s', (_name, create) => {
  expectNoWarnings();
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

    await client.mutate(
      'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { notification { ... on UserNotification { ref status } } } }',
      { id },
    );

    expect(await readIds(ACTIVE, { first: 20 })).toEqual([other]);
    expect(await client.readCached(all)).toMatchObject({
      notifications: {
        nodes: [{ id, status: 'DISMISSED' }, { id: other }],
        edges: [{ node: { id } }, { node: { id: other } }],
      },
    });
  });

  test('contains the same lists after live events as the gateway', async () => {
    const start = await currentCursor(gateway, user);
    const old = await publishMany(4);
    const lists = [
      'notifications(first: 2, filter: { statuses: [ACTIVE] })',
      'notifications(first: 20, filter: { statuses: [ACTIVE], kinds: [PLAN_REQUESTED] })',
      'notifications(first: 20, filter: { statuses: [ACTIVE], kinds: [TASK_FAILED] })',
      'notifications(first: 20, filter: { statuses: [DISMISSED] })',
      'notifications(first: 20)',
      'notifications',
    ].flatMap((list) => [`{ ${list} { ${PAGE} } }`, `{ viewer { ref ${list} { ${PAGE} } } }`]);
    for (const list of lists) await client.fetch(list);
    await client.fetch('{ notificationCounts { ref total } }');
    const failed = await publish(gateway, user, 'task_failed');
    const [newest = ''] = await publishMany(1);
    await dismissElsewhere(gateway, user, [newest, old[1] ?? '']);

    // Begins with the notifications that the lists contain already.
    await client.follow(EVENTS, { after: start }, 6);

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
