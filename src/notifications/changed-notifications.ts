import { sql } from 'kysely';
import { batchReads } from '../database/batch-reads.ts';
import { type Inputs, readList } from '../database/read.ts';
import type { Selected } from '../database/selected.ts';
import {
  batches,
  byPlace,
  isInBatch,
  type Place,
  type PlacesInput,
  placesInput,
} from '../revisions/batch.ts';
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
} as const satisfies Partial<Record<keyof Notification, string>>;

const always = ['id', 'kind', 'status', 'revision'] as const;

const changed = readList((db, { slot, chosen }: Inputs<PlacesInput>) => {
  const properties = chosen('Notification', always);
  const columns = Object.entries(texts).flatMap(([name, column]) =>
    properties.some((property) => property === name) ? [column] : [],
  );
  const batch = batches('notification', { users: slot('users'), afters: slot('afters') }, columns);
  return db
    .selectFrom('Notification')
    .innerJoin(batch.as('batch'), (join) => join.onTrue())
    .select(always)
    .$if(true, (all) => all.select(properties))
    .select('batch.place')
    .where(isInBatch)
    .orderBy('batch.place')
    .orderBy('revision');
});

/** A notification with the selected properties. */
export type ChangedNotification = Selected<Notification, (typeof always)[number]>;

/**
 * Reads a batch of a user's notifications that changed after a revision, in their newest state and in the order of their
 * changes.
 */
export const changedNotifications = batchReads<Place, ChangedNotification[]>(async (em, places, selected) =>
  byPlace(await changed(em, placesInput(places), selected), places),
);

/** The number of a user's active notifications. */
export type ActiveCounts = { total: number; byKind: { kind: NotificationKind; count: number }[] };

const active = readList((db, { slot }: Inputs<{ users: readonly string[] }>) =>
  db
    .selectFrom('Notification')
    .select(['userId', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .where('userId', '=', sql<string>`any(${slot('users')}::text[])`)
    .where('status', '=', sql.lit('active' as const))
    .groupBy(['userId', 'kind']),
);

/** Counts a user's active notifications, by the index of active ones. Kinds are in the specification's order. */
export const countActive = batchReads<string, ActiveCounts>(async (em, users) => {
  const counts = new Map(
    (await active(em, { users })).map(({ userId, kind, count }) => [`${kind} ${userId}`, count]),
  );
  return users.map((user) => {
    const byKind = notificationKinds.map((kind) => ({ kind, count: counts.get(`${kind} ${user}`) ?? 0 }));
    return { total: byKind.reduce((sum, { count }) => sum + count, 0), byKind };
  });
});
