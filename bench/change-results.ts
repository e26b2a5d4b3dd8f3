import type pg from 'pg';
import type { Caller } from './callers.ts';

/*
 * Reads what changes have stored, to compare contenders, and resets it between runs. Current times and random values
 * are replaced by checks of them.
 */

const PUBLISHED = "user_id like 'recipient-%'";
const PUT = "user_id like 'owner-%'";
const MEMBERS = "user_id like 'member-%'";

/** Deletes all published notifications. */
export async function deletePublished(client: pg.Client): Promise<void> {
  await client.query(`delete from notification where ${PUBLISHED}`);
  await client.query(`truncate delivery`);
  await vacuum(client, 'notification');
}

/** Deletes all workspaces that the platform has stored. */
export async function deleteWorkspaces(client: pg.Client): Promise<void> {
  await client.query(`delete from workspace where ${PUT}`);
  await vacuum(client, 'workspace');
}

/** Deletes the preferences and credentials of the members. */
export async function resetMembers(client: pg.Client): Promise<void> {
  await client.query(`delete from notification_preference where ${MEMBERS}`);
  await client.query(`delete from editor_credential where ${MEMBERS}`);
  await vacuum(client, 'notification_preference, editor_credential');
}

/** Reads the notifications published to a recipient and to the users of its batches. */
export async function readPublished(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select n.user_id, n.id, kind, status, resolution, task_id, task_name, project_id, project_name, project_repo_url,
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
 * Creates a check that there are this many active notifications per recipient in total.
 * @throws {Error} if the number differs
 */
export const expectPublished =
  (each: number) =>
  async (client: pg.Client, recipients: readonly Caller[]): Promise<void> => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from notification where ${PUBLISHED} and status = 'active'`,
    );
    const expected = recipients.length * each;
    if (rows[0]?.count !== expected) {
      throw new Error(`Expected ${expected} active notifications, found ${rows[0]?.count}.`);
    }
  };

/** Reads the preferences of a member. */
export async function readPreferences(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select notification_kind, email_enabled, push_enabled, chat_dm_enabled,
       updated_at > now() - interval '1 minute' as is_new
     from notification_preference where user_id = $1 order by 1`,
    [userId],
  );
  return rows;
}

/** Reads the credential of a member, without its random ciphertext. */
export async function readCredential(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select key_id, reauth_reason, length(ciphertext) as length, length(version) as version,
       updated_at > now() - interval '1 minute' as is_new
     from editor_credential where user_id = $1`,
    [userId],
  );
  return rows;
}

/** Reads the workspaces of an owner. */
export async function readPutWorkspaces(client: pg.Client, { userId }: Caller): Promise<unknown> {
  const { rows } = await client.query(
    `select w.id, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind, keep_active, machine_id,
       private_ip, git_ref, preview_token, error_message, created_at, updated_at,
       u.workspaces - w.revision as behind
     from workspace w join user_revision u using (user_id) where user_id = $1 order by w.id`,
    [userId],
  );
  return rows;
}

/** Cleans up between runs, so that PostgreSQL does not do so during one. */
async function vacuum(client: pg.Client, tables: string): Promise<void> {
  await client.query(`vacuum ${tables}, user_revision`);
  await client.query('checkpoint');
}
