-- Locks the user, increments the revision, inserts a platform event and dismisses the notification.
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
update notification n
set status = 'dismissed', revision = raised.revision,
  dismissed_at = greatest($3, updated_at), updated_at = greatest($3, updated_at)
from raised
where n.user_id = $1 and n.id = $2
returning n.id, n.kind, n.status, n.task_id, n.task_name, n.project_id, n.project_name, n.project_repo_url, n.workspace_id, n.title, n.preview_text, n.pr_url, n.payload, n.occurred_at, n.created_at, n.updated_at, n.resolved_at, n.dismissed_at
