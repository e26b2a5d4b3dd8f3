import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { putWorkspaces, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

/** A state of a workspace, identified by its git reference. */
const state = (id: string, second: number) =>
  workspaceInput({ id, gitRef: `at ${second}`, createdAt: at(0), updatedAt: at(second) });

const put = (userId: string, ...states: object[]) => putWorkspaces(gateway, userId, states);
const remove = (userId: string, id: string, second: number) =>
  as(platform).deleteWorkspace({ userId, id, deletedAt: at(second) });
const read = async (userId: string) => (await as(userId).rest.get('/user/workspaces')).body.workspaces;

async function readRefs(userId: string): Promise<string[]> {
  return (await read(userId)).map(({ git_ref }: { git_ref: string }) => git_ref).sort();
}

async function readRevision(userId: string): Promise<number> {
  const [row] = await gateway.database.sql(
    'select workspaces::int as revision from user_revision where user_id = $1',
    [userId],
  );
  return Number(row?.revision ?? 0);
}

test('a newer state replaces the whole workspace', async () => {
  const id = randomUUID();
  await put('newer', { ...state(id, 1), status: 'ERROR', errorMessage: 'Broken', machineId: 'm' });
  const moved = { id, projectId: 'moved', keepActive: true, createdAt: at(5), updatedAt: at(2) };

  expect(await put('newer', workspaceInput(moved))).toEqual([id]);

  expect(await read('newer')).toStrictEqual([
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

/** Steps at a second of the clock: what puts or deletes the workspace, or in parentheses what is ignored. */
test.each<[what: string, steps: string, left: string[]]>([
  ['an older state, or one with the same timestamp', 'put 5, (put 4), (put 5), put 6', ['at 6']],
  ['a repeated deletion', 'put 1, delete 2, (delete 2), (delete 3)', []],
  ['a state until the deletion', 'put 1, delete 10, (put 9), (put 10), put 11, (put 10.5)', ['at 11']],
  ['a state that arrives after its deletion', '(delete 10), (put 5)', []],
  ['a deletion older than the state', 'put 10, (delete 9)', ['at 10']],
  ['a deletion older than a previous one', 'put 10, delete 20, (delete 15), (put 18)', []],
])('ignores %s, which raises no revision', async (user, steps, left) => {
  const id = randomUUID();
  for (const step of steps.split(', ')) {
    const [, change, second] = /(\w+) ([\d.]+)/.exec(step) ?? [];
    const isApplied = !step.startsWith('(');
    const before = await readRevision(user);
    if (change === 'put')
      expect(await put(user, state(id, Number(second))), step).toEqual(isApplied ? [id] : []);
    else expect(await remove(user, id.toUpperCase(), Number(second)), step).toBe(isApplied);
    expect((await readRevision(user)) > before, step).toBe(isApplied);
  }
  expect(await readRefs(user)).toEqual(left);
});

test('of several states, stores and returns those that are newer', async () => {
  const [known, fresh] = [randomUUID(), randomUUID()];
  await put('some', state(known, 5));
  expect(await put('some', state(known, 4), state(fresh, 1))).toEqual([fresh]);
  expect(await readRefs('some')).toEqual(['at 1', 'at 5']);
});

test('accepts 0 to 500 states', async () => {
  expect(await put('most')).toEqual([]);
  const states = Array.from({ length: 500 }, (_, n) => state(randomUUID(), n));
  expect(await put('most', ...states)).toHaveLength(500);
  expect(await readRefs('most')).toHaveLength(500);
});

const [id, other] = [randomUUID(), randomUUID()];
const poisoned = { ...state(randomUUID(), 1), gitRef: 'poison' };

test.each<[what: string, states: object[], refusal: object]>([
  ['a state cannot be stored', [state(id, 1), poisoned], refused('INTERNAL_ERROR')],
  [
    'IDs are repeated, regardless of case',
    [state(id, 1), state(other, 1), state(id.toUpperCase(), 2), state(id, 3)],
    refused('VALIDATION_FAILED', 'input.workspaces[2].id', 'input.workspaces[3].id'),
  ],
  [
    'there are more than 500',
    Array.from({ length: 501 }, () => state(randomUUID(), 1)),
    refused('VALIDATION_FAILED', 'input.workspaces'),
  ],
])('stores none if %s', async (_what, states, refusal) => {
  await gateway.database.sql(`alter table workspace drop constraint if exists no_poison,
    add constraint no_poison check (git_ref is distinct from 'poison')`);
  await expect(put('none', ...states)).rejects.toMatchObject(refusal);
  expect(await readRefs('none')).toEqual([]);
});

test('two users can have workspaces with the same ID', async () => {
  const id = randomUUID();
  for (const user of ['one', 'two']) await put(user, state(id, 1));
  expect(await remove('one', id, 2)).toBe(true);
  expect(await readRefs('two')).toEqual(['at 1']);
  expect(await put('two', state(id, 1.5))).toEqual([id]);
});

test('the latest timestamp decides, whatever the order of concurrent states and deletions', async () => {
  const ids = Array.from({ length: 6 }, () => randomUUID());
  await Promise.all(
    ids.flatMap((id, n) => {
      const deletion = n % 2 === 0 ? 99 : 5.5;
      const states = [3, 9, 1, 7].map((second) => () => put('race', state(id, second)));
      const work = [...states, () => remove('race', id, deletion)];
      return [...work.slice(n % work.length), ...work.slice(0, n % work.length)].map((run) => run());
    }),
  );

  const left = await read('race');
  expect(left.map(({ git_ref }: { git_ref: string }) => git_ref)).toEqual(['at 9', 'at 9', 'at 9']);
  expect(left.map(({ id }: { id: string }) => id).sort()).toEqual(ids.filter((_, n) => n % 2 === 1).sort());
});

test('concurrent calls with overlapping lists in opposite orders all succeed', async () => {
  const ids = Array.from({ length: 20 }, () => randomUUID());
  await Promise.all(
    Array.from({ length: 8 }, (_, n) => {
      const states = ids.map((id) => state(id, n));
      return put('opposite', ...(n % 2 === 0 ? states : states.reverse()));
    }),
  );
  expect(new Set(await readRefs('opposite'))).toEqual(new Set(['at 7']));
});
