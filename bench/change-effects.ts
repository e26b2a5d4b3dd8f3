import type pg from 'pg';
import type { Caller } from './callers.ts';

/*
 * What changes have stored, to be equal, and how records are brought to where every run begins. Times of now and random
 * values are compared by what they must be equal to.
 */

const PUBLISHED = "user_id like 'recipient-%'";
const PUT = "user_id like 'owner-%'";
const MEMBERS = "user_id like 'member-%'";

/** Removes everything that was published, as if nobody had. */
export async function unpublish(client: pg.Client): Promise<void> {
  await client.query(`delete from notification where ${PUBLISHED}`);
  await tidyUp(client, 'notification');
}

/** Removes all workspaces that were put. */
export async function removeWorkspaces(client: pg.Client): Promise<void> {
  await client.query(`delete from workspace where ${PUT}`);
  await tidyUp(client, 'workspace');
}

/** Removes the preferences and credentials of the members. */
export async function forgetMembers(client: pg.Client): Promise<void> {
  await client.query(`delete from notification_preference where ${MEMBERS}`);
  await client.query(`delete from editor_credential where ${MEMBERS}`);
  await tidyUp(client, 'notification_preference, editor_credential');
}

/** What was published to a recipient, or in its batches. */
export async function effectOfPublishing(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select n.user_id, n.id, kind, status, resolved_by, task_id, task_name, project_id, project_name, project_repo_url,
       workspace_id, title, preview_text, pr_url, payload, occurred_at, dismissed_at, resolved_at,
       n.updated_at = n.created_at as is_unchanged, n.created_at > now() - interval '1 minute' as is_new,
       n.revision = u.notifications as is_newest
     from notification n join user_revision u using (user_id)
     where user_id = $1 or user_id like $1 || '-%' order by n.user_id, n.id`,
    [userId],
  );
  return rows;
}

/**
 * Holds a run to so many active notifications of each recipient.
 * @throws {Error} if others are stored
 */
export const expectPublished =
  (each: number) =>
  async (client: pg.Client, recipients: readonly Caller[]): Promise<void> => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from notification where ${PUBLISHED} and status = 'active'`,
    );
    const wanted = recipients.length * each;
    if (rows[0]?.count !== wanted) {
      throw new Error(`${rows[0]?.count} notifications are active, not ${wanted}.`);
    }
  };

/** A member's preferences. */
export async function effectOfPreferences(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select notification_kind, email_enabled, push_enabled, chat_dm_enabled,
       updated_at > now() - interval '1 minute' as is_new
     from notification_preference where user_id = $1 order by 1`,
    [userId],
  );
  return rows;
}

/** A member's credential. Its ciphertext is another every time. */
export async function effectOfSubscription(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select key_id, reauth_reason, length(ciphertext) as length, length(version) as version,
       updated_at > now() - interval '1 minute' as is_new
     from editor_credential where user_id = $1`,
    [userId],
  );
  return rows;
}

/** An owner's workspaces. */
export async function effectOfPutting(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select w.id, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind, keep_active, machine_id,
       private_ip, git_ref, preview_token, error_message, created_at, updated_at,
       u.workspaces - w.revision as behind
     from workspace w join user_revision u using (user_id) where user_id = $1 order by w.id`,
    [userId],
  );
  return rows;
}

/** What the writes left behind is cleared before the next run, not during it. */
async function tidyUp(client: pg.Client, tables: string): Promise<void> {
  await client.query(`vacuum ${tables}, user_revision`);
  await client.query('checkpoint');
}
