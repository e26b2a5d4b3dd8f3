import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asPlatform, putWorkspaces, workspaceInput } from './support/records.ts';
import { member, platform } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const PUT =
  'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id gitRef } } }';
const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

/** A state of one workspace, told apart by its git reference. */
const state = (id: string, second: number) =>
  workspaceInput({ id, gitRef: `at ${second}`, createdAt: at(0), updatedAt: at(second) });

const put = (userId: string, ...states: object[]) => putWorkspaces(gateway, userId, states);

async function remove(userId: string, id: string, second: number): Promise<boolean> {
  const data = await asPlatform(
    gateway,
    'mutation ($input: DeleteWorkspaceInput!) { deleteWorkspace(input: $input) { deleted } }',
    { input: { userId, id, deletedAt: at(second) } },
  );
  return data.deleteWorkspace.deleted;
}

async function refsOf(userId: string): Promise<string[]> {
  const { body } = await rest(gateway, 'GET', '/user/workspaces', { token: await member(userId) });
  return body.workspaces.map(({ git_ref }: { git_ref: string }) => git_ref).sort();
}

async function revision(userId: string): Promise<number> {
  const [row] = await gateway.database.sql(
    'select workspaces::int as revision from user_revision where user_id = $1',
    [userId],
  );
  return Number(row?.revision);
}

test('a newer state replaces the whole workspace', async () => {
  const id = randomUUID();
  await put('newer', { ...state(id, 1), status: 'ERROR', errorMessage: 'Broken', machineId: 'm' });
  const next = workspaceInput({
    id,
    projectId: 'moved',
    keepActive: true,
    createdAt: at(5),
    updatedAt: at(2),
  });

  expect(await put('newer', next)).toEqual([id]);

  const { body } = await rest(gateway, 'GET', '/user/workspaces', { token: await member('newer') });
  expect(body.workspaces).toStrictEqual([
    {
      id,
      project_id: 'moved',
      status: 'running',
      hardware: { cpu_kind: 'shared', cpus: 2, memory_mb: 4096, volume_size_gb: 20, gpu_kind: null },
      keep_active: true,
      created_at: at(5),
      updated_at: at(2),
    },
  ]);
});

test('an older state and one of the same time change nothing, and only what was stored is answered', async () => {
  const [known, fresh] = [randomUUID(), randomUUID()];
  await put('older', state(known, 5));
  const before = await revision('older');

  expect(await put('older', state(known, 4))).toEqual([]);
  expect(await put('older', { ...state(known, 5), gitRef: 'another' })).toEqual([]);
  expect(await revision('older'), 'what changes nothing raises no revision').toBe(before);

  expect(await put('older', state(known, 4), state(fresh, 1))).toEqual([fresh]);
  expect(await refsOf('older')).toEqual(['at 1', 'at 5']);
  expect(await revision('older')).toBeGreaterThan(before);
});

test('states are stored all or none', async () => {
  await gateway.database.sql(
    `alter table workspace add constraint no_poison check (git_ref is distinct from 'poison')`,
  );
  const input = {
    userId: 'all-or-none',
    workspaces: [state(randomUUID(), 1), { ...state(randomUUID(), 1), gitRef: 'poison' }],
  };
  const { errors } = await graphql(gateway, PUT, { input }, { token: await platform() });
  expect(errors.map(({ extensions }) => extensions.code)).toEqual(['INTERNAL_ERROR']);
  expect(await refsOf('all-or-none')).toEqual([]);
});

test('the same id twice is refused whatever its case, each repetition by its place, and nothing is stored', async () => {
  const [id, other] = [randomUUID(), randomUUID()];
  const workspaces = [state(id, 1), state(other, 1), state(id.toUpperCase(), 2), state(id, 3)];
  const input = { userId: 'twice', workspaces };

  const { data, errors } = await graphql(gateway, PUT, { input }, { token: await platform() });

  expect(data).toEqual({ putWorkspaces: null });
  expect(errors[0].extensions.code).toBe('VALIDATION_FAILED');
  const locations = errors[0].extensions.errors.map(({ location }: { location: string }) => location);
  expect(locations).toEqual(['input.workspaces[2].id', 'input.workspaces[3].id']);
  expect(await refsOf('twice')).toEqual([]);
});

test('500 states go in at once, 501 do not, and an empty list is no fault', async () => {
  const states = Array.from({ length: 500 }, (_, n) => state(randomUUID(), n));
  expect(await put('most')).toEqual([]);
  expect(await put('most', ...states)).toHaveLength(500);
  expect(await refsOf('most')).toHaveLength(500);

  const input = { userId: 'most', workspaces: [...states, state(randomUUID(), 1)] };
  const { errors } = await graphql(gateway, PUT, { input }, { token: await platform() });
  expect(errors[0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.workspaces' }],
  });
});

test('deleting removes the workspace once, and again is no fault', async () => {
  const id = randomUUID();
  await put('deleted', state(id, 1));
  expect(await remove('deleted', id.toUpperCase(), 2)).toBe(true);
  const before = await revision('deleted');
  expect(await remove('deleted', id, 2)).toBe(false);
  expect(await remove('deleted', id, 3)).toBe(false);
  expect(await remove('deleted', randomUUID(), 3)).toBe(false);
  expect(await refsOf('deleted')).toEqual([]);
  expect(await revision('deleted')).toBe(before);
});

test('a state from before the deletion, or of its very time, does not bring the workspace back; a newer one does', async () => {
  const id = randomUUID();
  await put('late', state(id, 1));
  await remove('late', id, 10);
  expect(await put('late', state(id, 9))).toEqual([]);
  expect(await put('late', state(id, 10))).toEqual([]);
  expect(await refsOf('late')).toEqual([]);

  expect(await put('late', state(id, 11))).toEqual([id]);
  expect(await put('late', state(id, 10.5)), 'older than what came back').toEqual([]);
  expect(await refsOf('late')).toEqual(['at 11']);
});

test('a deletion that comes before any state holds too', async () => {
  const id = randomUUID();
  expect(await remove('early', id, 10)).toBe(false);
  expect(await put('early', state(id, 5))).toEqual([]);
  expect(await refsOf('early')).toEqual([]);
});

test('a deletion older than the state does not delete, and an older deletion does not weaken a later one', async () => {
  const id = randomUUID();
  await put('stays', state(id, 10));
  expect(await remove('stays', id, 9)).toBe(false);
  expect(await refsOf('stays')).toEqual(['at 10']);

  expect(await remove('stays', id, 20)).toBe(true);
  await remove('stays', id, 15);
  expect(await put('stays', state(id, 18))).toEqual([]);
});

test("another user's workspace of the same id is another workspace", async () => {
  const id = randomUUID();
  await put('one', state(id, 1));
  await put('two', state(id, 1));
  expect(await remove('one', id, 2)).toBe(true);
  expect(await refsOf('two')).toEqual(['at 1']);
  expect(await put('two', state(id, 1.5))).toEqual([id]);
});

test('in whatever order states and deletions arrive at once, the latest decides', async () => {
  const ids = Array.from({ length: 6 }, () => randomUUID());
  await Promise.all(
    ids.flatMap((id, n) => {
      const deletion = n % 2 === 0 ? 99 : 5.5;
      const states = [3, 9, 1, 7].map((second) => () => put('race', state(id, second)));
      const work = [...states, () => remove('race', id, deletion)];
      return [...work.slice(n % work.length), ...work.slice(0, n % work.length)].map((run) => run());
    }),
  );

  expect(await refsOf('race')).toEqual(['at 9', 'at 9', 'at 9']);
  const { body } = await rest(gateway, 'GET', '/user/workspaces', { token: await member('race') });
  const left = body.workspaces.map(({ id }: { id: string }) => id).sort();
  expect(left).toEqual(ids.filter((_, n) => n % 2 === 1).sort());
});

test('overlapping lists put at once in opposite orders all succeed', async () => {
  const ids = Array.from({ length: 20 }, () => randomUUID());
  await Promise.all(
    Array.from({ length: 8 }, (_, n) => {
      const states = ids.map((id) => state(id, n));
      return put('opposite', ...(n % 2 === 0 ? states : states.reverse()));
    }),
  );
  expect(new Set(await refsOf('opposite'))).toEqual(new Set(['at 7']));
});
