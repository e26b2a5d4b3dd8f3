import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { putWorkspaces, workspaceInput } from './support/records.ts';
import { member } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

test('a workspace has all five hardware fields, and its error message only while its status is error', async () => {
  const ready = workspaceInput({ createdAt: '2026-01-01T00:00:01Z' });
  const failed = workspaceInput({ status: 'ERROR', createdAt: '2026-01-01T00:00:00Z', errorMessage: null });
  await putWorkspaces(gateway, 'alice', [ready, failed]);

  const { body } = await rest(gateway, 'GET', '/user/workspaces', { token: await member('alice') });

  expect(body.workspaces.map(({ id }: { id: string }) => id)).toEqual([ready.id, failed.id]);
  expect(body.workspaces[0]).not.toHaveProperty('error_message');
  expect(body.workspaces[0].hardware).toEqual({
    cpu_kind: 'shared',
    cpus: 2,
    memory_mb: 4096,
    volume_size_gb: 20,
    gpu_kind: null,
  });
  expect(body.workspaces[1].error_message).toBeNull();
});
