import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ID_CHARACTERS } from '../../src/values/text.ts';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway();

async function list(userId: string, search = '') {
  const reply = await rest(gateway, 'GET', `/user/workspaces${search}`, { token: await member(userId) });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.workspaces;
}

async function nodes(userId: string, args = '', fields = 'id') {
  const { workspaces } = await asMember(gateway, userId, `{ workspaces${args} { nodes { ${fields} } } }`);
  return workspaces.nodes;
}

const toIds = (records: { id: string }[]) => records.map(({ id }) => id);

const statuses = ['creating', 'starting', 'running', 'stopping', 'stopped', 'error'];
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

test('returns an empty list for an unknown user, over both APIs', async () => {
  expect(await list('nobody')).toEqual([]);
  expect(await nodes('nobody')).toEqual([]);
});

test('returns all hardware fields, and the error message only in the status error', async () => {
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
        ...(status === 'error' && { error_message: 'It broke' }),
        created_at: input.createdAt,
        updated_at: input.updatedAt,
      },
    ]);
    const fields = `id projectId status keepActive machineId privateIp gitRef previewToken errorMessage
    createdAt updatedAt hardware { cpuKind cpus memoryMb volumeSizeGb gpuKind }`;
    const errorMessage = status === 'error' ? 'It broke' : null;
    expect(await nodes(user, '', fields)).toEqual([{ ...input, errorMessage }]);
  },
);

test("lists all projects, newest first by the platform's createdAt", async () => {
  const inputs = [3, 1, 2].map((second) =>
    workspaceInput({ projectId: `project-${second}`, createdAt: at(second) }),
  );
  await putWorkspaces(gateway, 'projects', inputs);
  const expected = [inputs[0], inputs[2], inputs[1]].map((input) => input?.id);
  expect(toIds(await list('projects'))).toEqual(expected);
  expect(toIds(await nodes('projects'))).toEqual(expected);
});

test('orders equal timestamps by ID, descending', async () => {
  const inputs = Array.from({ length: 12 }, () => workspaceInput({ createdAt: at(0) }));
  await putWorkspaces(gateway, 'ties', inputs);
  const expected = toIds(inputs).sort().reverse();
  expect(toIds(await list('ties'))).toEqual(expected);
  expect(toIds(await nodes('ties'))).toEqual(expected);
});

test('GraphQL filters by project and several statuses', async () => {
  const inputs = ['a', 'b'].flatMap((projectId) =>
    statuses.map((status, second) =>
      workspaceInput({ projectId, status: status.toUpperCase(), createdAt: at(second) }),
    ),
  );
  await putWorkspaces(gateway, 'filters', inputs);
  const idsWhere = async (args: string) => new Set(toIds(await nodes('filters', args)));
  const expected = (matches: (input: (typeof inputs)[number]) => boolean) =>
    new Set(toIds(inputs.filter(matches)));

  expect(await idsWhere('(filter: { projectIds: "a" })')).toEqual(
    expected(({ projectId }) => projectId === 'a'),
  );
  expect(await idsWhere('(filter: { statuses: RUNNING })')).toEqual(
    expected(({ status }) => status === 'RUNNING'),
  );
  expect(await idsWhere('(filter: { projectIds: "b", statuses: [ERROR, STOPPED] })')).toEqual(
    expected(({ projectId, status }) => projectId === 'b' && ['ERROR', 'STOPPED'].includes(status)),
  );
  expect(await idsWhere('(filter: { projectIds: "c" })')).toEqual(new Set());
  expect(await idsWhere('(filter: { projectIds: null, statuses: null })')).toEqual(expected(() => true));
});

test('returns all results by default, and a page with limit and offset', async () => {
  await putWorkspaces(
    gateway,
    'many',
    Array.from({ length: 120 }, (_, second) => workspaceInput({ createdAt: at(second) })),
  );
  const all = toIds(await list('many'));
  expect(all).toHaveLength(120);
  expect(toIds(await list('many', '?limit=50&offset=50'))).toEqual(all.slice(50, 100));
  expect(toIds(await list('many', '?offset=119'))).toEqual(all.slice(119));
  expect(toIds(await list('many', '?limit=1&offset=120'))).toEqual([]);
});

test("lists only the caller's own workspaces without membership, and another user's with platform:read", async () => {
  const input = workspaceInput();
  await putWorkspaces(gateway, 'owner', [input]);
  await putWorkspaces(gateway, 'neighbour', [workspaceInput({ id: input.id, projectId: 'theirs' })]);

  const token = await signToken({ sub: 'owner' });
  const { body } = await rest(gateway, 'GET', '/user/workspaces', { token });
  expect(body.workspaces).toMatchObject([{ id: input.id, project_id: 'project-1' }]);

  const query = '{ user(id: "owner") { workspaces { nodes { id } totalCount } } }';
  const dashboard = await signToken({ sub: 'dashboard', scope: 'platform:read' });
  const { data } = await graphql(gateway, query, {}, { token: dashboard });
  expect(data.user.workspaces).toEqual({ nodes: [{ id: input.id }], totalCount: 1 });
});

test('IDs are case-insensitive', async () => {
  const id = randomUUID();
  await putWorkspaces(gateway, 'cases', [workspaceInput({ id: id.toUpperCase(), updatedAt: at(0) })]);
  await putWorkspaces(gateway, 'cases', [workspaceInput({ id, gitRef: 'later', updatedAt: at(1) })]);
  expect(await list('cases')).toMatchObject([{ id, git_ref: 'later' }]);
});

test('REST filters by project and statuses, also within a page', async () => {
  const user = 'filtering';
  const inputs = [
    { projectId: 'web-shop', status: 'RUNNING' },
    { projectId: 'web-shop', status: 'STOPPED' },
    { projectId: 'web-shop', status: 'ERROR' },
    { projectId: 'data pipeline/1', status: 'RUNNING' },
  ].map((input, second) => workspaceInput({ ...input, createdAt: at(second) }));
  const [running, stopped, failed, other] = await putWorkspaces(gateway, user, inputs);

  const ids = async (search: string) => toIds(await list(user, search));
  expect(await ids('?project_id=web-shop')).toEqual([failed, stopped, running]);
  expect(await ids('?project_id=data%20pipeline%2F1')).toEqual([other]);
  expect(await ids('?status=running')).toEqual([other, running]);
  expect(await ids('?status=error&status=stopped')).toEqual([failed, stopped]);
  expect(await ids('?project_id=web-shop&status=running')).toEqual([running]);
  expect(await ids('?project_id=web-shop&limit=1&offset=1')).toEqual([stopped]);
  expect(await ids('?project_id=unknown')).toEqual([]);
});

test.each<[query: string, location: string, message: string, value: unknown]>([
  ['project_id=', 'query.project_id', ID_CHARACTERS.message, ''],
  ['project_id=%00', 'query.project_id', ID_CHARACTERS.message, '\0'],
  ['project_id=a&project_id=a', 'query.project_id', 'must not be repeated', ['a', 'a']],
  ['status=RUNNING', 'query.status', `must be one of ${statuses.join(', ')}`, 'RUNNING'],
])('returns 400 for the filter ?%s', async (query, location, message, value) => {
  const { status, body } = await rest(gateway, 'GET', `/user/workspaces?${query}`, {
    token: await member('alice'),
  });

  expect([status, body.code]).toEqual([400, 'bad_request']);
  expect(body.errors).toEqual([{ location, message, value }]);
});
