import type pg from 'pg';
import type { Caller } from './callers.ts';

const OF_WRITERS = "user_id like 'writer-%'";

/** Makes every notification of the writers active, as if nobody had dismissed it. */
export async function restoreAll(client: pg.Client): Promise<void> {
  await client.query(
    `update notification set status = 'active', dismissed_at = null, updated_at = created_at + interval '3 seconds'
     where ${OF_WRITERS} and status <> 'active'`,
  );
  await tidyUp(client);
}

/** Dismisses every notification of the writers. */
export async function dismissAll(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    `update notification set status = 'dismissed', dismissed_at = updated_at where ${OF_WRITERS} and status <> 'dismissed'`,
  );
  if (rowCount !== 0) await tidyUp(client);
}

/** @throws {Error} where a notification that should be dismissed is not */
export async function expectDismissed(client: pg.Client, writers: readonly Caller[]): Promise<void> {
  const ids = writers.flatMap(({ notificationIds }) => notificationIds);
  const { rowCount } = await client.query(
    `select from notification where ${OF_WRITERS} and id = any($1) and status <> 'dismissed'`,
    [ids],
  );
  if (rowCount !== 0) throw new Error(`${rowCount} of ${ids.length} notifications were not dismissed.`);
}

/** What dismissing the first of a writer's notifications has changed, as far as it does not depend on the time. */
export async function effectOfDismissal(
  client: pg.Client,
  { userId, notificationIds }: Caller,
): Promise<unknown> {
  const { rows } = await client.query(
    `select n.status, n.revision = u.notifications as is_newest, n.dismissed_at = n.updated_at as is_updated_then,
       n.dismissed_at > n.created_at + interval '3 seconds' as is_new, n.resolved_by, n.resolved_at
     from notification n join user_revision u using (user_id) where user_id = $1 and id = $2`,
    [userId, notificationIds[0]],
  );
  return rows;
}

/** What the writes left behind is cleared before the next run, not during it. */
async function tidyUp(client: pg.Client): Promise<void> {
  await client.query('vacuum notification, user_revision');
  await client.query('checkpoint');
}
