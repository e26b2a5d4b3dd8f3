import { sql } from 'kysely';
import { batched } from '../database/batched.ts';
import { prepared } from '../database/prepared.ts';
import {
  batches,
  byPlace,
  isInBatch,
  MAX_CHANGES,
  type Place,
  type Placed,
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

const changed = prepared<PlacesInput, Placed<Notification>>((db, { slot, read }) => {
  const properties = read('Notification', 'id', 'kind', 'status', 'revision');
  const columns = Object.entries(texts).flatMap(([name, column]) =>
    properties.some((property) => property === name) ? [column] : [],
  );
  const batch = batches('notification', { users: slot('users'), afters: slot('afters') }, columns);
  return db
    .selectFrom('Notification')
    .innerJoin(batch.as('batch'), (join) => join.onTrue())
    .select(properties)
    .select('batch.place')
    .where(isInBatch)
    .orderBy('batch.place')
    .orderBy('revision')
    .limit(MAX_CHANGES);
});

/**
 * A batch of a user's notifications that changed after a revision, in their newest state and the order of their
 * changes; beside those that tell them apart only with the properties that are told to be read.
 */
export const changedNotifications = batched<Place, Notification[]>(async (em, places, reads) =>
  byPlace(await changed(em, placesInput(places), reads), places),
);

/** How many of a user's notifications wait for them. */
export type ActiveCounts = { total: number; byKind: { kind: NotificationKind; count: number }[] };

const active = prepared<
  { users: readonly string[] },
  { userId: string; kind: NotificationKind; count: number }
>((db, { slot }) =>
  db
    .selectFrom('Notification')
    .select(['userId', 'kind', (eb) => eb.fn.countAll<number>().as('count')])
    .where('userId', '=', sql<string>`any(${slot('users')}::text[])`)
    .where('status', '=', sql.lit('active' as const))
    .groupBy(['userId', 'kind'])
    .limit(MAX_CHANGES),
);

/** Counts a user's active notifications, every kind in the specification's order; from the index of active ones. */
export const countActive = batched<string, ActiveCounts>(async (em, users) => {
  const counts = new Map(
    (await active(em, { users })).map(({ userId, kind, count }) => [`${kind} ${userId}`, count]),
  );
  return users.map((user) => {
    const byKind = notificationKinds.map((kind) => ({ kind, count: counts.get(`${kind} ${user}`) ?? 0 }));
    return { total: byKind.reduce((sum, { count }) => sum + count, 0), byKind };
  });
});
