import type pg from 'pg';
import type { Caller } from './callers.ts';

const OF_WRITERS = "user_id like 'writer-%'";

/** Restores every notification of the writers to active, and opens the requests that were answered. */
export async function restoreAll(client: pg.Client): Promise<void> {
  await client.query(
    `update notification set status = 'active', dismissed_at = null, resolved_at = null, resolution = null, answer = null,
       request_state = case request_state when 'answered' then 'open' else request_state end,
       updated_at = created_at + interval '3 seconds'
     where ${OF_WRITERS} and status <> 'active'`,
  );
  await vacuum(client);
}

/** Dismisses every notification of the writers. */
export async function dismissAll(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    `update notification set status = 'dismissed', dismissed_at = updated_at where ${OF_WRITERS} and status <> 'dismissed'`,
  );
  if (rowCount !== 0) await vacuum(client);
}

/** @throws {Error} if a notification of the writers is not dismissed */
export async function expectDismissed(client: pg.Client, writers: readonly Caller[]): Promise<void> {
  const ids = writers.flatMap(({ notificationIds }) => notificationIds);
  const { rowCount } = await client.query(
    `select from notification where ${OF_WRITERS} and id = any($1) and status <> 'dismissed'`,
    [ids],
  );
  if (rowCount !== 0) throw new Error(`${rowCount} of ${ids.length} notifications were not dismissed.`);
}

/** Reads a writer's first notification after its dismissal, with checks of its times. */
export async function readDismissal(
  client: pg.Client,
  { userId, notificationIds }: Caller,
): Promise<unknown> {
  const { rows } = await client.query(
    `select n.status, n.revision = u.notifications as is_newest, n.dismissed_at = n.updated_at as is_updated_then,
       n.dismissed_at > n.created_at + interval '3 seconds' as is_new, n.resolution, n.resolved_at
     from notification n join user_revision u using (user_id) where user_id = $1 and id = $2`,
    [userId, notificationIds[0]],
  );
  return rows;
}

/** Cleans up between runs, so that PostgreSQL does not do so during one. */
async function vacuum(client: pg.Client): Promise<void> {
  await client.query('vacuum notification, user_revision');
  await client.query('checkpoint');
}
