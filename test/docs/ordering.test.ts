import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readPage, tableBelow } from '../support/documentation.ts';
import { useGateway } from '../support/gateway.ts';
import { asPlatform, payloads, putWorkspaces, resolve, workspaceInput } from '../support/records.ts';

const page = readPage('docs/platform.md');

const at = (time: string) => `2026-01-01T${time}:00.000Z`;

const gateway = useGateway();

test('publications and resolutions have the documented results', async () => {
  const [userId, task] = ['alice', { id: 'task', projectId: 'project' }];
  const states = async () => {
    const { user } = await asPlatform(
      gateway,
      'query ($userId: ID!) { user(id: $userId) { notifications { nodes { ... on UserNotification { id status resolution } } } } }',
      { userId },
    );
    return new Map<string, string>(
      (user?.notifications.nodes ?? []).map(({ id, status, resolution }: Record<string, string>) => [
        id,
        resolution ?? status,
      ]),
    );
  };
  const calls = tableBelow(page, 'Order of notifications');
  expect(calls).toHaveLength(9);
  for (const [call = '', time = '', active, resolved] of calls) {
    const before = await states();
    const [verb, , name = ''] = /^(publish|resolve)( with)? ([\w-]+)/.exec(call)?.slice(1) ?? [];
    if (verb === 'resolve') await resolve(gateway, userId, task.id, name, at(time));
    else {
      const input = {
        userId,
        id: name,
        task,
        title: 'Plan',
        occurredAt: at(time),
        payload: payloads.plan_requested,
      };
      const query =
        'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
      expect((await asPlatform(gateway, query, { input })).publishNotification).toEqual({ created: true });
    }
    const after = [...(await states())];
    const changed = after.filter(([id, state]) => state !== 'ACTIVE' && before.get(id) !== state);
    expect({
      call,
      active: after.find(([, state]) => state === 'ACTIVE')?.[0] ?? 'none',
      resolved: changed.map(([id, state]) => `${id}: ${state}`).join(', '),
    }).toEqual({ call, active, resolved });
  }
});

test('states and deletions of workspaces have the documented results', async () => {
  const [userId, id] = ['alice', randomUUID()];
  const calls = tableBelow(page, 'Order of workspaces');
  expect(calls).toHaveLength(8);
  for (const [call = '', time = '', applied, status] of calls) {
    const [verb, name] = call.split(' ');
    const query = 'mutation ($input: DeleteWorkspaceInput!) { deleteWorkspace(input: $input) { deleted } }';
    const isApplied =
      verb === 'put'
        ? (await putWorkspaces(gateway, userId, [workspaceInput({ id, status: name, updatedAt: at(time) })]))
            .length === 1
        : (await asPlatform(gateway, query, { input: { userId, id, deletedAt: at(time) } })).deleteWorkspace
            .deleted;
    const { user } = await asPlatform(
      gateway,
      'query ($userId: ID!) { user(id: $userId) { workspaces { nodes { status } } } }',
      { userId },
    );
    expect({
      call,
      applied: isApplied ? 'yes' : 'no',
      status: user?.workspaces.nodes[0]?.status ?? 'none',
    }).toEqual({
      call,
      applied,
      status,
    });
  }
});
