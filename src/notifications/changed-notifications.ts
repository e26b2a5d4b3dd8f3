import { type EntityManager, query } from '../database/database.ts';
import { prepared } from '../database/prepared.ts';
import { type NotificationKind, notificationKinds } from '../notification-kind.ts';
import { BATCH_RECORDS, endOfBatch } from '../revisions/batch.ts';
import type { Notification } from './notification.entity.ts';

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
} as const satisfies Partial<Record<keyof Notification, string>>;

const changed = prepared<{ userId: string; after: number }, Notification>((db, { slot, read }) => {
  const properties = read('Notification', 'id', 'kind', 'status', 'revision');
  const [userId, after] = [slot('userId'), slot('after')];
  const columns = Object.entries(texts).flatMap(([name, column]) =>
    properties.some((read) => read === name) ? [column] : [],
  );
  return db
    .selectFrom('Notification')
    .select(properties)
    .where('userId', '=', userId)
    .where('revision', '>', after)
    .where('revision', '<=', endOfBatch({ table: 'notification', userId, after }, columns))
    .orderBy('revision')
    .limit(BATCH_RECORDS);
});

/**
 * A batch of a user's notifications that changed after a revision, in their newest state and the order of their
 * changes; beside those that tell them apart only with the properties that are told to be read.
 */
export function changedNotifications(
  em: EntityManager,
  userId: string,
  after: number,
  reads?: ReadonlySet<string>,
): Promise<Notification[]> {
  return changed(em, { userId, after }, reads);
}

/** How many of a user's notifications wait for them. */
export type ActiveCounts = { total: number; byKind: { kind: NotificationKind; count: number }[] };

/** Counts the active notifications, every kind in the specification's order; from the index of active ones. */
export async function countActive(em: EntityManager, userId: string): Promise<ActiveCounts> {
  const rows = await query(em)
    .selectFrom('Notification')
    .select(['kind', (eb) => eb.fn.countAll<string>().as('count')])
    .where('userId', '=', userId)
    .where('status', '=', 'active')
    .groupBy('kind')
    .execute();
  const counts = new Map(rows.map(({ kind, count }) => [kind, Number(count)]));
  const byKind = notificationKinds.map((kind) => ({ kind, count: counts.get(kind) ?? 0 }));
  return { total: byKind.reduce((sum, { count }) => sum + count, 0), byKind };
}
