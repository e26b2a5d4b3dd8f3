import { randomUUID } from 'node:crypto';
import { print } from 'graphql';
import { describe, expect, test } from 'vitest';
import * as operations from '../../clients/typescript/src/operations.ts';
import { useGateway } from '../support/gateway.ts';
import { type Kind, payloads, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member } from '../support/tokens.ts';
import { cachingClients } from './caching-clients.ts';
import { expectNoWarnings } from './console.ts';

const gateway = useGateway();

describe.each(cachingClients)("the package's operations in the cache of %s", (_name, create) => {
  expectNoWarnings();

  test('select all that the cache needs to store and to update their results', async () => {
    const user = randomUUID();
    for (const kind of Object.keys(payloads) as Kind[]) await publish(gateway, user, kind);
    const { id } = await publish(gateway, user, 'plan_requested');
    await putWorkspaces(gateway, user, [workspaceInput()]);
    const client = create(gateway.address, await member(user));
    const first = { first: 20, filter: { statuses: ['ACTIVE'] } };
    const queries = [
      [operations.Notifications, first],
      [operations.Notification, { id }],
      [operations.Counts, {}],
      [operations.Preferences, {}],
      [operations.EditorConnection, {}],
      [operations.Workspaces, { first: 20 }],
      [operations.Deliveries, { notificationId: id }],
    ] as const;
    for (const [query, variables] of queries) {
      const data = await client.fetch(print(query), { ...variables });
      expect(await client.readCached(print(query), { ...variables })).toEqual(data);
    }
    const readCached = async () => {
      const { notifications } = await client.readCached(print(operations.Notifications), first);
      const { notification } = await client.readCached(print(operations.Notification), { id });
      return { count: notifications.nodes.length, status: notification.status };
    };
    expect(await readCached()).toEqual({ count: 5, status: 'ACTIVE' });

    await client.mutate(print(operations.Dismiss), { input: { id } });
    expect(await readCached()).toEqual({ count: 4, status: 'DISMISSED' });

    const input = { id, answerId: randomUUID(), plan: { decision: 'APPROVE' } };
    await client.mutate(print(operations.Restore), { input: { id } });
    expect(await readCached()).toEqual({ count: 5, status: 'ACTIVE' });
    await client.mutate(print(operations.Answer), { input });
    expect(await readCached()).toEqual({ count: 4, status: 'RESOLVED' });
  });
});
