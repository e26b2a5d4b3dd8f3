import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readPage, tableBelow } from '../support/documentation.ts';
import { useGateway } from '../support/gateway.ts';
import { notification, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const page = readPage('docs/platform.md');

const at = (time: string) => `2026-01-01T${time}:00.000Z`;

const gateway = useGateway();

test('publications and resolutions have the documented results', async () => {
  const service = gateway.as(platform);
  const task = { id: 'task', projectId: 'project' };
  const states = async () => {
    const { nodes } = await gateway.as('alice').notifications();
    return new Map(nodes.map(({ id, status, resolution }) => [id, resolution ?? status] as const));
  };
  const calls = tableBelow(page, 'Order of notifications');
  expect(calls).toHaveLength(9);
  for (const [call = '', time = '', active, resolved] of calls) {
    const before = await states();
    const [verb, , name = ''] = /^(publish|resolve)( with)? ([\w-]+)/.exec(call)?.slice(1) ?? [];
    if (verb === 'resolve')
      await service.resolve({ userId: 'alice', taskId: task.id, reason: name, before: at(time) });
    else {
      const given = { id: name, task, occurredAt: at(time) };
      expect(await service.publish(notification('alice', 'plan_requested', given))).toMatchObject({
        created: true,
      });
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
  const service = gateway.as(platform);
  const [userId, id] = ['alice', randomUUID()];
  const calls = tableBelow(page, 'Order of workspaces');
  expect(calls).toHaveLength(8);
  for (const [call = '', time = '', applied, status] of calls) {
    const [verb, name] = call.split(' ');
    const workspaces = [workspaceInput({ id, status: name, updatedAt: at(time) })];
    const isApplied =
      verb === 'put'
        ? (await service.putWorkspaces({ userId, workspaces })).length === 1
        : await service.deleteWorkspace({ userId, id, deletedAt: at(time) });
    const { nodes } = await gateway.as(userId).workspaces();
    expect([call, isApplied ? 'yes' : 'no', nodes[0]?.status ?? 'none']).toEqual([call, applied, status]);
  }
});
