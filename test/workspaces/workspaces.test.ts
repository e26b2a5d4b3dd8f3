import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { WorkspaceFilter } from '../../clients/typescript/src/generated/types.ts';
import { ID_CHARACTERS } from '../../src/values/text.ts';
import { useGateway } from '../support/gateway.ts';
import { putWorkspaces, workspaceInput } from '../support/records.ts';
import { signToken } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

async function list(userId: string, search = '') {
  const reply = await as(userId).rest.get(`/user/workspaces${search}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.workspaces;
}

const toIds = (records: readonly { id: string }[]) => records.map(({ id }) => id);
const listIds = async (userId: string, search?: string) => toIds(await list(userId, search));
const readIds = async (userId: string, filter?: WorkspaceFilter) =>
  toIds((await as(userId).workspaces(filter && { filter })).nodes);

const statuses = ['creating', 'starting', 'running', 'stopping', 'stopped', 'error'];
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

test('returns an empty list for an unknown user, over both APIs', async () => {
  expect([await list('nobody'), await readIds('nobody')]).toEqual([[], []]);
});

test('returns all hardware fields, and the error message only in the status error', async () => {
  const ready = workspaceInput({ createdAt: at(1) });
  const failed = workspaceInput({ status: 'ERROR', createdAt: at(0), errorMessage: null });
  await putWorkspaces(gateway, 'alice', [ready, failed]);

  const workspaces = await list('alice');
  expect(toIds(workspaces)).toEqual([ready.id, failed.id]);
  expect(workspaces[0]).not.toHaveProperty('error_message');
  const hardware = { cpu_kind: 'shared', cpus: 2, memory_mb: 4096, volume_size_gb: 20, gpu_kind: null };
  expect(workspaces[0].hardware).toEqual(hardware);
  expect(workspaces[1].error_message).toBeNull();
});

test.each(statuses)('omits unset optional fields of a workspace in the status %s', async (status) => {
  const user = `least-${status}`;
  const input = workspaceInput({ status: status.toUpperCase(), createdAt: at(0), updatedAt: at(1) });
  await putWorkspaces(gateway, user, [input]);

  expect(await list(user)).toStrictEqual([
    {
      id: input.id,
      project_id: 'project-1',
      status,
      hardware: { cpu_kind: 'shared', cpus: 2, memory_mb: 4096, volume_size_gb: 20, gpu_kind: null },
      keep_active: false,
      ...(status === 'error' && { error_message: null }),
      created_at: at(0),
      updated_at: at(1),
    },
  ]);
});

const allFields = {
  hardware: { cpuKind: 'dedicated', cpus: 0, memoryMb: 2_147_483_647, volumeSizeGb: 1, gpuKind: 'h100' },
  keepActive: true,
  machineId: 'machine',
  privateIp: '10.0.0.1',
  gitRef: 'main',
  previewToken: 'preview',
  errorMessage: 'It broke',
};

test.each(statuses)(
  'returns all optional fields of a workspace in the status %s, over both APIs',
  async (status) => {
    const user = `most-${status}`;
    const input = workspaceInput({ ...allFields, status: status.toUpperCase() });
    await putWorkspaces(gateway, user, [input]);

    const isError = status === 'error';
    expect(await list(user)).toStrictEqual([
      {
        id: input.id,
        project_id: 'project-1',
        status,
        hardware: {
          cpu_kind: 'dedicated',
          cpus: 0,
          memory_mb: 2_147_483_647,
          volume_size_gb: 1,
          gpu_kind: 'h100',
        },
        keep_active: true,
        machine_id: 'machine',
        private_ip: '10.0.0.1',
        git_ref: 'main',
        preview_token: 'preview',
        ...(isError && { error_message: 'It broke' }),
        created_at: input.createdAt,
        updated_at: input.updatedAt,
      },
    ]);
    const { data } = await as(user).graphql(`{ workspaces { nodes {
      id projectId status keepActive machineId privateIp gitRef previewToken errorMessage createdAt updatedAt
      hardware { cpuKind cpus memoryMb volumeSizeGb gpuKind } } } }`);
    expect(data.workspaces.nodes).toEqual([{ ...input, errorMessage: isError ? 'It broke' : null }]);
  },
);

test("lists all projects, newest first by the platform's createdAt", async () => {
  const inputs = [3, 1, 2].map((second) =>
    workspaceInput({ projectId: `project-${second}`, createdAt: at(second) }),
  );
  await putWorkspaces(gateway, 'projects', inputs);
  const expected = [inputs[0], inputs[2], inputs[1]].map((input) => input?.id);
  expect([await listIds('projects'), await readIds('projects')]).toEqual([expected, expected]);
});

test('orders equal timestamps by ID, descending', async () => {
  const inputs = Array.from({ length: 12 }, () => workspaceInput({ createdAt: at(0) }));
  await putWorkspaces(gateway, 'ties', inputs);
  const expected = toIds(inputs).sort().reverse();
  expect([await listIds('ties'), await readIds('ties')]).toEqual([expected, expected]);
});

test('returns all results by default, and a page with limit and offset', async () => {
  const inputs = Array.from({ length: 120 }, (_, second) => workspaceInput({ createdAt: at(second) }));
  await putWorkspaces(gateway, 'many', inputs);
  const all = await listIds('many');
  expect(all).toHaveLength(120);
  expect(await listIds('many', '?limit=50&offset=50')).toEqual(all.slice(50, 100));
  expect(await listIds('many', '?offset=119')).toEqual(all.slice(119));
  expect(await listIds('many', '?limit=1&offset=120')).toEqual([]);
});

test("lists only the caller's own workspaces without membership, and another user's with platform:read", async () => {
  const input = workspaceInput();
  await putWorkspaces(gateway, 'owner', [input]);
  await putWorkspaces(gateway, 'neighbour', [workspaceInput({ id: input.id, projectId: 'theirs' })]);

  const owner = as(() => signToken({ sub: 'owner' }));
  const { body } = await owner.rest.get('/user/workspaces');
  expect(body.workspaces).toMatchObject([{ id: input.id, project_id: 'project-1' }]);

  const query = '{ user(id: "owner") { workspaces { nodes { id } totalCount } } }';
  const { data } = await as(() => signToken({ sub: 'dashboard', scope: 'platform:read' })).graphql(query);
  expect(data.user.workspaces).toEqual({ nodes: [{ id: input.id }], totalCount: 1 });
});

test('IDs are case-insensitive', async () => {
  const id = randomUUID();
  await putWorkspaces(gateway, 'cases', [workspaceInput({ id: id.toUpperCase(), updatedAt: at(0) })]);
  await putWorkspaces(gateway, 'cases', [workspaceInput({ id, gitRef: 'later', updatedAt: at(1) })]);
  expect(await list('cases')).toMatchObject([{ id, git_ref: 'later' }]);
});

test('filters by project and statuses, also within a page', async () => {
  const inputs = [
    { projectId: 'web-shop', status: 'RUNNING' },
    { projectId: 'web-shop', status: 'STOPPED' },
    { projectId: 'web-shop', status: 'ERROR' },
    { projectId: 'data pipeline/1', status: 'RUNNING' },
  ].map((input, second) => workspaceInput({ ...input, createdAt: at(second) }));
  const [running, stopped, failed, other] = await putWorkspaces(gateway, 'filtering', inputs);

  const rows: [search: string, filter: WorkspaceFilter | undefined, ids: unknown[]][] = [
    ['?project_id=web-shop', { projectIds: ['web-shop'] }, [failed, stopped, running]],
    ['?project_id=data%20pipeline%2F1', { projectIds: ['data pipeline/1'] }, [other]],
    ['?status=running', { statuses: ['RUNNING'] }, [other, running]],
    ['?status=error&status=stopped', { statuses: ['ERROR', 'STOPPED'] }, [failed, stopped]],
    ['?project_id=web-shop&status=running', { projectIds: ['web-shop'], statuses: ['RUNNING'] }, [running]],
    ['?project_id=web-shop&limit=1&offset=1', undefined, [stopped]],
    ['?project_id=unknown', { projectIds: ['unknown'] }, []],
    ['', { projectIds: null, statuses: null }, [other, failed, stopped, running]],
  ];
  for (const [search, filter, ids] of rows) {
    expect(await listIds('filtering', search), search).toEqual(ids);
    if (filter) expect(await readIds('filtering', filter), search).toEqual(ids);
  }
});

test.each<[query: string, location: string, message: string, value: unknown]>([
  ['project_id=', 'query.project_id', ID_CHARACTERS.message, ''],
  ['project_id=%00', 'query.project_id', ID_CHARACTERS.message, '\0'],
  ['project_id=a&project_id=a', 'query.project_id', 'must not be repeated', ['a', 'a']],
  ['status=RUNNING', 'query.status', `must be one of ${statuses.join(', ')}`, 'RUNNING'],
])('returns 400 for the filter ?%s', async (query, location, message, value) => {
  const { status, body } = await as('alice').rest.get(`/user/workspaces?${query}`);
  expect([status, body.code]).toEqual([400, 'bad_request']);
  expect(body.errors).toEqual([{ location, message, value }]);
});
