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

/** What a minimal workspace returns over REST. */
const least = {
  project_id: 'project-1',
  hardware: { cpu_kind: 'shared', cpus: 2, memory_mb: 4096, volume_size_gb: 20, gpu_kind: null },
  keep_active: false,
};
/** The input of a workspace with all optional fields, and what it returns over REST. */
const mostInput = {
  hardware: { cpuKind: 'dedicated', cpus: 0, memoryMb: 2_147_483_647, volumeSizeGb: 1, gpuKind: 'h100' },
  keepActive: true,
  machineId: 'machine',
  privateIp: '10.0.0.1',
  gitRef: 'main',
  previewToken: 'preview',
  errorMessage: 'It broke',
};
const most = {
  project_id: 'project-1',
  hardware: { cpu_kind: 'dedicated', cpus: 0, memory_mb: 2_147_483_647, volume_size_gb: 1, gpu_kind: 'h100' },
  keep_active: true,
  machine_id: 'machine',
  private_ip: '10.0.0.1',
  git_ref: 'main',
  preview_token: 'preview',
};

test.each(statuses)(
  'in the status %s, omits unset optional fields, and returns all others over both APIs',
  async (status) => {
    const given = { status: status.toUpperCase(), updatedAt: at(2) };
    const full = workspaceInput({ ...mostInput, ...given, createdAt: at(1) });
    const minimal = workspaceInput({ ...given, createdAt: at(0) });
    await putWorkspaces(gateway, status, [full, minimal]);

    const isError = status === 'error';
    const expected = [
      { id: full.id, ...most, ...(isError && { error_message: 'It broke' }), created_at: at(1) },
      { id: minimal.id, ...least, ...(isError && { error_message: null }), created_at: at(0) },
    ].map((workspace) => ({ ...workspace, status, updated_at: at(2) }));
    expect(await list(status)).toStrictEqual(expected);
    const { data } = await as(status).graphql(`{ workspaces(first: 1) { nodes {
      id projectId status keepActive machineId privateIp gitRef previewToken errorMessage createdAt updatedAt
      hardware { cpuKind cpus memoryMb volumeSizeGb gpuKind } } } }`);
    expect(data.workspaces.nodes).toEqual([{ ...full, errorMessage: isError ? 'It broke' : null }]);
  },
);

test("lists all projects, newest first by the platform's createdAt, and equally old ones by ID, descending", async () => {
  const inputs = [3, 1, 2].map((second) =>
    workspaceInput({ projectId: `project-${second}`, createdAt: at(second) }),
  );
  const ties = Array.from({ length: 12 }, () => workspaceInput({ createdAt: at(0) }));
  await putWorkspaces(gateway, 'projects', [...inputs, ...ties]);
  const [third, first, second] = toIds(inputs);
  const expected = [third, second, first, ...toIds(ties).sort().reverse()];
  expect([await listIds('projects'), await readIds('projects')]).toEqual([expected, expected]);
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
