import { Migration } from '@mikro-orm/migrations';

/**
 * Fills what version 0.2.0 did not store: the states of requests, the decisions about channels, and when deliveries were
 * due first. Resolutions are stored as they are shown. Adds what decisions read, and drops what nothing reads any more.
 */
export class Migration20261128100000_requires_0_4_0_decide_in_typescript extends Migration {
  override name = 'Migration20261128100000_requires_0_4_0_decide_in_typescript';

  override up(): void {
    this.addSql(`
      alter table notification drop constraint notification_resolved_by_check;
      alter table notification rename column resolved_by to resolution;
      alter table task_resolution drop constraint task_resolution_resolved_by_check;
      alter table task_resolution rename column resolved_by to resolution;
      alter table task_resolution rename column resolved_before to resolved_up_to;`);

    // What version 0.2.0 dismissed or resolved without a state was no request. What it resolved otherwise is shown as
    // withdrawn already.
    this.addSql(`
      update notification set
        request_state = case
          when request_state = 'open' and resolved_at is not null then 'withdrawn'
          when request_state is not null then request_state
          when status = 'active' and (kind in ('plan_requested', 'question_requested')
            or kind = 'task_response_ready' and payload ->> 'taskStatus' = 'awaiting_input') then 'open'
          else 'none' end,
        skipped_channels = coalesce(skipped_channels, 0),
        resolution = case
          when request_state = 'expired' then 'expired'
          when resolution = 'answered' and request_state is distinct from 'answered' then 'answered_elsewhere'
          else resolution end
      where request_state is null or request_state = 'open' and resolved_at is not null or request_state = 'expired'
        or skipped_channels is null or resolution = 'answered' and request_state is distinct from 'answered';`);

    // A publication of version 0.2.0 superseded no request that the user had dismissed.
    this.addSql(`
      with superseded as (
        select old.user_id, old.id, old.task_id, newer.created_at,
               row_number() over (partition by old.user_id order by old.id) as place
          from notification as old cross join lateral (
            select created_at from notification as other
             where (other.user_id, other.task_id, other.kind, other.slot) = (old.user_id, old.task_id, old.kind, old.slot)
               and (other.occurred_at, other.created_at) > (old.occurred_at, old.created_at)
             order by other.occurred_at desc limit 1) as newer
         where old.status = 'dismissed' and old.request_state = 'open'),
      incremented as (
        update user_revision set notifications = notifications + count
          from (select user_id, count(*) from superseded group by user_id) as counts
         where user_revision.user_id = counts.user_id
        returning user_revision.user_id, notifications - count as before),
      events as (
        insert into platform_event (type, user_id, notification_id, task_id, at)
        select 'notification.withdrawn', user_id, id, task_id, now() from superseded)
      update notification set
        request_state = 'withdrawn', resolution = 'superseded', resolved_at = superseded.created_at,
        revision = before + place, updated_at = greatest(now(), updated_at + interval '1 ms')
      from superseded join incremented using (user_id)
      where (notification.user_id, notification.id) = (superseded.user_id, superseded.id);`);

    this.addSql(`
      update task_resolution set resolution = 'answered_elsewhere' where resolution = 'answered';
      update delivery set
        first_due_at = coalesce(first_due_at, due_at),
        may_be_delivered = may_be_delivered
          or state in ('pending', 'sending') and coalesce(reason in ('reply_lost', 'lease_expired'), false)
      where first_due_at is null
        or state in ('pending', 'sending') and not may_be_delivered and reason in ('reply_lost', 'lease_expired');`);

    this.addSql(`
      drop index notification_to_withdraw, notification_to_convert;
      alter table notification
        alter column request_state set default 'none', alter column request_state set not null,
        alter column skipped_channels set default 0, alter column skipped_channels set not null,
        add constraint notification_open_request check (request_state <> 'open' or resolved_at is null),
        add constraint notification_resolution_check
          check (resolution in ('answered', 'expired', 'superseded', 'answered_elsewhere', 'resumed', 'task_deleted'));
      alter table task_resolution add constraint task_resolution_resolution_check
        check (resolution in ('answered', 'expired', 'superseded', 'answered_elsewhere', 'resumed', 'task_deleted'));
      alter table delivery alter column first_due_at set default now(), alter column first_due_at set not null;`);

    // What was published before counts for no limit of a task.
    this.addSql(`
      alter table notification
        add column by_task boolean not null default false, add column tool_id text, drop column payload_size;
      update notification set tool_id = payload ->> 'toolId'
       where kind in ('plan_requested', 'question_requested');`);

    // Due deliveries are found by time only, and statistics are counted at once.
    this.addSql(`
      drop index delivery_due_by_user, delivery_sending;
      drop table user_statistics;
      alter table statistics drop column sweep_started_at, drop column swept_to,
        alter column counts drop default, alter column counts drop not null;
      update statistics set counts = null, as_of = null, due_at = now();`);
  }
}
