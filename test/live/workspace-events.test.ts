import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { putWorkspaces, workspaceInput } from '../support/records.ts';
import type { SseStream } from '../support/sse.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();

const subscribe = (user: string) =>
  gateway
    .as(user)
    .follow('subscription { workspaceEvents { workspaceId workspace { id status hardware { cpus } } } }');

async function readEvent(stream: SseStream) {
  const { data, errors } = await stream.take();
  expect(errors).toEqual([]);
  return data.workspaceEvents;
}

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const state = (id: string, second: number, status = 'RUNNING') =>
  workspaceInput({ id, status, createdAt: at(0), updatedAt: at(second) });
const put = (user: string, ...workspaces: object[]) => putWorkspaces(gateway, user, workspaces);
const remove = (userId: string, id: string, second: number) =>
  gateway.as(platform).deleteWorkspace({ userId, id, deletedAt: at(second) });

test('sends all workspaces of the user first, then each change: put, changed, deleted, recreated', async () => {
  const user = 'flow';
  const [first, deleted] = [randomUUID(), randomUUID()];
  await put('another', state(randomUUID(), 1));
  await put(user, state(first, 1), state(deleted, 1));
  await remove(user, deleted, 2);

  const stream = await subscribe(user);
  expect(await readEvent(stream)).toEqual({
    workspaceId: first,
    workspace: { id: first, status: 'RUNNING', hardware: { cpus: 2 } },
  });
  await put('another', state(randomUUID(), 1));
  await put(user, state(first, 3, 'STOPPED'));
  expect(await readEvent(stream)).toMatchObject({ workspaceId: first, workspace: { status: 'STOPPED' } });
  await remove(user, first, 4);
  expect(await readEvent(stream)).toEqual({ workspaceId: first, workspace: null });
  await put(user, state(first, 5, 'CREATING'));
  expect(await readEvent(stream)).toMatchObject({ workspaceId: first, workspace: { status: 'CREATING' } });
  stream.close();
});

test('sends no event for an older state, or for deleting a deleted or unknown workspace', async () => {
  const user = 'nothing';
  const id = randomUUID();
  await put(user, state(id, 5));
  const stream = await subscribe(user);
  await readEvent(stream);

  await put(user, state(id, 4, 'STOPPED'));
  await remove(user, id, 4);
  await remove(user, randomUUID(), 9);
  await put(user, state(id, 6, 'ERROR'));

  expect(await readEvent(stream)).toMatchObject({ workspaceId: id, workspace: { status: 'ERROR' } });
  stream.close();
});

test('a repeated deletion is still sent to subscribers that have not received it', async () => {
  const user = 'twice';
  const ids = Array.from({ length: 3 }, () => randomUUID());
  await put(user, ...ids.map((id) => state(id, 1)));
  await gateway.database.sql('alter table user_revision disable trigger all');
  const stream = await subscribe(user);
  for (const _id of ids) await readEvent(stream);
  for (const second of [2, 3]) for (const id of ids) await remove(user, id, second);
  await gateway.database.sql('alter table user_revision enable trigger all');
  await put(user, state(randomUUID(), 1));

  const events = [await readEvent(stream), await readEvent(stream), await readEvent(stream)];

  expect(events).toEqual(ids.map((id) => ({ workspaceId: id, workspace: null })));
  stream.close();
});

test('sends hundreds of workspaces, each once', async () => {
  const user = 'hundreds';
  const ids = Array.from({ length: 250 }, () => randomUUID());
  await put(user, ...ids.map((id) => state(id, 1)));
  const stream = await subscribe(user);

  const seen = [];
  while (seen.length < ids.length) seen.push((await readEvent(stream)).workspaceId);

  expect(seen.sort()).toEqual(ids.sort());
  stream.close();
});

test('a subscriber receives the final state of concurrent puts and deletions', async () => {
  const user = 'busy';
  const ids = Array.from({ length: 6 }, () => randomUUID());
  const stream = await subscribe(user);
  const shown = new Map<string, string>();
  const reading = (async () => {
    for (;;) {
      const event = await readEvent(stream).catch(() => undefined);
      if (event === undefined) return;
      if (event.workspace === null) shown.delete(event.workspaceId);
      else shown.set(event.workspaceId, event.workspace.status);
    }
  })();

  const statuses = ['RUNNING', 'STOPPED', 'ERROR'];
  await Promise.all(
    Array.from({ length: 60 }, (_none, number) => {
      const id = ids[number % ids.length] ?? '';
      return number % 4 === 3 ? remove(user, id, number) : put(user, state(id, number, statuses[number % 3]));
    }),
  );

  const { nodes } = await gateway.as(user).workspaces();
  await eventually(() => {
    expect(Object.fromEntries(shown)).toEqual(
      Object.fromEntries(nodes.map(({ id, status }) => [id, status])),
    );
  });
  stream.close();
  await reading;
});
