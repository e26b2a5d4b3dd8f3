import { beforeAll, expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { asMember, publish } from '../support/records.ts';

const USER = 'filtering';
/** The records in order of creation, one second apart. */
const records = [
  { id: 'a', taskId: 'task-1', projectId: 'web-shop', kind: 'plan_requested' },
  { id: 'b', taskId: 'task-1', projectId: 'web-shop', kind: 'task_failed' },
  { id: 'c', taskId: 'task-2', projectId: 'web-shop', kind: 'task_failed' },
  { id: 'd', taskId: 'task-3', projectId: 'data-pipeline', kind: 'task_failed' },
  { id: 'e', taskId: 'task-3', projectId: 'data-pipeline', kind: 'plan_requested' },
] as const;
const createdAt = (id: string) => `2026-05-01T00:00:0${records.findIndex((record) => record.id === id)}.000Z`;

const gateway = useGateway();
beforeAll(async () => {
  for (const { id, taskId, projectId, kind } of records) {
    await publish(gateway, USER, kind, { id, task: { id: taskId, projectId } });
    await publish(gateway, 'another', kind, { id, task: { id: taskId, projectId } });
    await gateway.database.sql('update notification set created_at = $1 where id = $2', [createdAt(id), id]);
  }
});

async function list(filter: string, page = '') {
  const selection = 'totalCount nodes { ... on UserNotification { id } } pageInfo { hasNextPage endCursor }';
  const { notifications } = await asMember(
    gateway,
    USER,
    `{ notifications(filter: { ${filter} } ${page}) { ${selection} } }`,
  );
  const { nodes, ...others } = notifications;
  return { ...others, ids: nodes.map(({ id }: { id: string }) => id).join('') };
}

test.each([
  ['projectIds: "web-shop"', 'cba'],
  ['projectIds: "data-pipeline", kinds: TASK_FAILED', 'd'],
  ['projectIds: "unknown"', ''],
  ['taskIds: "task-1"', 'ba'],
  ['taskIds: "task-1", projectIds: "web-shop", kinds: [PLAN_REQUESTED]', 'a'],
  ['taskIds: "task-1", projectIds: "data-pipeline"', ''],
  ['taskIds: "task-3", statuses: RESOLVED', ''],
  [`createdFrom: "${createdAt('b')}", createdBefore: "${createdAt('d')}"`, 'cb'],
  [`createdFrom: "${createdAt('d')}"`, 'ed'],
  [`createdBefore: "${createdAt('b')}"`, 'a'],
  [`createdBefore: "${createdAt('b')}", createdFrom: "${createdAt('d')}"`, ''],
  [`projectIds: "web-shop", createdFrom: "${createdAt('b')}"`, 'cb'],
  [`taskIds: "task-1", createdBefore: "${createdAt('b')}"`, 'a'],
  ['projectIds: null, taskIds: null, createdFrom: null, createdBefore: null', 'edcba'],
  ['projectIds: []', ''],
  ['taskIds: []', ''],
  ['statuses: [], kinds: TASK_FAILED', ''],
  ['kinds: []', ''],
  ['projectIds: ["web-shop", "data-pipeline"], taskIds: ["task-3", "task-2"]', 'edc'],
])('notifications(%s) returns and counts matching notifications, newest first', async (args, ids) => {
  expect(await list(args)).toMatchObject({ ids, totalCount: ids.length });
});

test.each(['projectIds: "web-shop"', `createdFrom: "${createdAt('a')}", createdBefore: "${createdAt('d')}"`])(
  'pages of notifications(%s) contain only matching notifications, in both directions',
  async (args) => {
    const first = await list(args, 'first: 2');
    expect(first).toMatchObject({ ids: 'cb', pageInfo: { hasNextPage: true } });
    const { endCursor } = first.pageInfo;
    expect(await list(args, `first: 2, after: "${endCursor}"`)).toMatchObject({
      ids: 'a',
      pageInfo: { hasNextPage: false },
    });
    expect(await list(args, `last: 2, before: "${endCursor}"`)).toMatchObject({ ids: 'c' });
  },
);
