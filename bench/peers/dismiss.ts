import { pool } from './pool.ts';
import type { KindAndPayload } from './records.ts';

/** The columns of a notification in the REST API. */
const COLUMNS =
  'id, kind, status, task_id, task_name, project_id, project_name, project_repo_url, workspace_id, title, preview_text, pr_url, payload, occurred_at, created_at, updated_at, resolved_at, dismissed_at';

const qualified = COLUMNS.replaceAll(/\w+/g, 'notification.$&');

/**
 * A copy of the gateway's statement (dismiss-notifications.ts), which locks the user, increments the revision, inserts a
 * platform event and dismisses the notification.
 */
const DISMISS = `
  with
    locked as (select user_id from user_revision where user_id = $1 for update),
    undismissed as (
      select id, task_id from notification
      where exists (select user_id from locked) and user_id = $1 and id = $2 and status <> 'dismissed' for update
    ),
    raised as (
      update user_revision set notifications = notifications + 1
      where user_id = $1 and exists (select id from undismissed) returning notifications as revision
    ),
    events as (
      insert into platform_event (user_id, type, notification_id, task_id, at)
      select $1, 'notification.dismissed', id, task_id, clock_timestamp() from undismissed
    )
  update notification
  set status = 'dismissed', revision = raised.revision,
    dismissed_at = greatest($3, updated_at), updated_at = greatest($3, updated_at)
  from raised
  where notification.user_id = $1 and notification.id = $2
  returning ${qualified}`;

type NotificationRow = KindAndPayload & {
  id: string;
  status: string;
  task_id: string;
  task_name: string | null;
  project_id: string;
  project_name: string | null;
  project_repo_url: string | null;
  workspace_id: string | null;
  title: string;
  preview_text: string | null;
  pr_url: string | null;
  occurred_at: Date;
  created_at: Date;
  updated_at: Date;
  resolved_at: Date | null;
  dismissed_at: Date | null;
};

/** Dismisses a notification and returns it in the format of the REST API; undefined if it does not exist. */
export async function dismiss(userId: string, id: string) {
  const dismissed = await pool.query<NotificationRow>({
    name: 'dismiss',
    text: DISMISS,
    values: [userId, id, new Date()],
  });
  const row = dismissed.rows[0] ?? (await find(userId, id));
  return row && toNotification(row);
}

async function find(userId: string, id: string) {
  const { rows } = await pool.query<NotificationRow>({
    name: 'notification',
    text: `select ${COLUMNS} from notification where user_id = $1 and id = $2`,
    values: [userId, id],
  });
  return rows[0];
}

function toNotification(row: NotificationRow) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    task: {
      id: row.task_id,
      project_id: row.project_id,
      name: row.task_name ?? undefined,
      workspace_id: row.workspace_id,
    },
    title: row.title,
    payload: toPayload(row),
    occurred_at: row.occurred_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
    dismissed_at: row.dismissed_at,
    resolved_at: row.resolved_at,
    pr_url: row.pr_url,
    preview_text: row.preview_text,
    project_name: row.project_name ?? undefined,
    project_repo_url: row.project_repo_url,
  };
}

function toPayload({ kind, payload }: KindAndPayload) {
  switch (kind) {
    case 'plan_requested':
      return {
        tool_id: payload.toolId,
        summary: payload.input.summary,
        plan: payload.input.plan,
        input: payload.input,
      };
    case 'question_requested':
      return { tool_id: payload.toolId, input: payload.input };
    case 'task_failed':
    case 'task_response_ready':
      return {
        task_status: payload.taskStatus,
        message: payload.message ?? undefined,
        message_label: payload.messageLabel ?? undefined,
        message_timestamp: payload.messageTimestamp,
      };
  }
}
