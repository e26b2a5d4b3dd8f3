import { sql } from 'kysely';
import { batchReads } from '../database/batch-reads.ts';
import { type Inputs, readList } from '../database/read.ts';
import { type Selected, selectChosen } from '../database/selected.ts';
import {
  findBatches,
  type PositionsInput,
  readNextBatch,
  selectInBatches,
} from '../revisions/change-batches.ts';
import type { Notification } from './notification.entity.ts';
import { type NotificationKind, notificationKinds } from './notification.enums.ts';

/** The columns of unlimited length, by property. */
const texts = {
  taskName: 'task_name',
  projectName: 'project_name',
  projectRepoUrl: 'project_repo_url',
  workspaceId: 'workspace_id',
  title: 'title',
  previewText: 'preview_text',
  prUrl: 'pr_url',
  payload: 'payload',
} satisfies Partial<Record<keyof Notification, string>>;

const always = ['id', 'kind', 'status', 'revision'] as const;

const findChanged = readList((db, inputs: Inputs<PositionsInput>) => {
  const chosen = inputs.chosen('Notification', always);
  const batches = findBatches('notification', inputs, texts, chosen);
  const changed = db.selectFrom('Notification').innerJoin(batches.as('batch'), (join) => join.onTrue());
  return selectInBatches(selectChosen(changed, always, chosen));
});

/** A notification with the selected properties. */
export type ChangedNotification = Selected<Notification, (typeof always)[number]>;

/**
 * Reads the next batch of a user's notifications that changed after a revision, in their current state and in the order
 * of their changes.
 */
export const readChangedNotifications = readNextBatch<ChangedNotification>(findChanged);

/** The number of a user's active notifications, in total and by kind. */
export type ActiveCounts = { total: number; byKind: { kind: NotificationKind; count: number }[] };

const findActive = readList((db, { slot }: Inputs<{ users: readonly string[] }>) =>
  db
    .selectFrom('Notification')
    .select(['userId', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .where('userId', '=', sql<string>`any(${slot('users')}::text[])`)
    .where('status', '=', sql.lit('active' as const))
    .groupBy(['userId', 'kind']),
);

/** Counts a user's active notifications by kind, in the order of {@link notificationKinds}. */
export const countActive = batchReads<string, ActiveCounts>(async (em, users) => {
  const counts = new Map(
    (await findActive(em, { users })).map(({ userId, kind, count }) => [`${kind} ${userId}`, count]),
  );
  return users.map((user) => {
    const byKind = notificationKinds.map((kind) => ({ kind, count: counts.get(`${kind} ${user}`) ?? 0 }));
    return { total: byKind.reduce((sum, { count }) => sum + count, 0), byKind };
  });
});
