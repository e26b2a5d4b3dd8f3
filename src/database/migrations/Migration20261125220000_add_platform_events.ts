import { Migration } from '@mikro-orm/migrations';

/**
 * Creates the schema of version 0.3.0. It has the name of the last migration of that version, so that a database of
 * version 0.3.0 has applied it.
 */
export class Migration20261125220000_add_platform_events extends Migration {
  override name = 'Migration20261125220000_add_platform_events';

  override up(): void {
    this.addSql(`
      create table user_revision (
        user_id varchar(255) collate "C" not null primary key,
        notifications bigint not null default '0',
        workspaces bigint not null default '0',
        epoch uuid not null default gen_random_uuid(),
        editor_auth bigint not null default '0'
      );
      create table database_epoch (
        is_only boolean not null default true primary key constraint database_epoch_one_row check (is_only),
        epoch uuid not null
      );
      insert into database_epoch (epoch) values (gen_random_uuid());`);

    this.addSql(`
      create table notification (
        user_id varchar(255) collate "C" not null,
        id varchar(255) collate "C" not null,
        revision bigint not null,
        kind text not null constraint notification_kind_check
          check (kind in ('plan_requested', 'question_requested', 'task_failed', 'task_response_ready')),
        status text not null constraint notification_status_check
          check (status in ('active', 'resolved', 'dismissed')),
        resolved_by text constraint notification_resolved_by_check
          check (resolved_by in ('answered', 'resumed', 'task_deleted', 'superseded')),
        task_id varchar(255) collate "C" not null,
        task_name text,
        project_id varchar(255) collate "C" not null,
        project_name text,
        project_repo_url text,
        workspace_id text,
        title text not null,
        preview_text text,
        pr_url text,
        payload json not null,
        occurred_at timestamptz(3) not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        resolved_at timestamptz(3),
        dismissed_at timestamptz(3),
        payload_size int,
        skipped_channels smallint,
        slot text not null default '',
        request_state text constraint notification_request_state_check
          check (request_state in ('none', 'open', 'answered', 'expired', 'withdrawn')),
        expires_at timestamptz(3),
        expires_in_seconds int,
        on_expiry json,
        answer json,
        receipt json,
        primary key (user_id, id)
      );
      create index notification_changes on notification (user_id, revision);
      create index notification_retired on notification (updated_at) where status <> 'active';
      create unique index notification_one_active_in_slot on notification (user_id, task_id, kind, slot)
        where status = 'active';
      create index notification_of_slot on notification (user_id, task_id, kind, slot, occurred_at);
      create index notification_unsettled on notification (user_id, task_id, kind)
        where status = 'active' or request_state = 'open';
      create index notification_expiry on notification (expires_at)
        where request_state = 'open' and expires_at is not null;
      create index notification_to_withdraw on notification (user_id, id)
        where request_state = 'open' and resolved_at is not null;
      create index notification_to_convert on notification (user_id, id)
        where request_state is null and resolved_at is null and kind <> 'task_failed';
      create index notification_newest on notification (user_id, created_at, id);
      create index notification_active on notification (user_id, created_at, id) where status = 'active';
      create index notification_of_kind on notification (kind, created_at, user_id, id);
      create index notification_of_project on notification (project_id, created_at, user_id, id)
        where status = 'active' and project_id is not null;

      create table task_resolution (
        user_id varchar(255) collate "C" not null,
        task_id varchar(255) collate "C" not null,
        kind text not null constraint task_resolution_kind_check
          check (kind in ('plan_requested', 'question_requested', 'task_failed', 'task_response_ready')),
        resolved_before timestamptz(3) not null,
        resolved_by text not null constraint task_resolution_resolved_by_check
          check (resolved_by in ('answered', 'resumed', 'task_deleted', 'superseded')),
        updated_at timestamptz(3) not null,
        primary key (user_id, task_id, kind)
      );
      create index task_resolution_age on task_resolution (updated_at);

      create table notification_preference (
        user_id varchar(255) collate "C" not null,
        notification_kind text not null constraint notification_preference_notification_kind_check
          check (notification_kind in ('plan_requested', 'question_requested', 'task_failed', 'task_response_ready')),
        email_enabled boolean not null,
        push_enabled boolean not null,
        chat_dm_enabled boolean not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        primary key (user_id, notification_kind)
      );`);

    this.addSql(`
      create table contact (
        user_id varchar(255) collate "C" not null primary key,
        email text,
        email_suspended_at timestamptz(3),
        chat_member_id text,
        chat_suspended_at timestamptz(3),
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null
      );

      create table push_subscription (
        user_id varchar(255) collate "C" not null,
        id varchar(255) collate "C" not null constraint push_subscription_endpoint unique,
        host text not null,
        ciphertext text not null,
        key_id text not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        primary key (user_id, id)
      );
      create index push_subscription_key on push_subscription (key_id);

      create table delivery (
        user_id varchar(255) collate "C" not null,
        notification_id varchar(255) collate "C" not null,
        channel text not null constraint delivery_channel_check check (channel in ('email', 'push', 'chat')),
        target varchar(255) collate "C" not null,
        provider text not null,
        state text not null constraint delivery_state_check
          check (state in ('pending', 'sending', 'delivered', 'failed', 'cancelled')),
        step text not null default 'message' constraint delivery_step_check check (step in ('message', 'update')),
        is_open boolean not null default true,
        due_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        claims int not null default 0,
        attempts int not null default 0,
        reason text constraint delivery_reason_check
          check (reason in ('settled', 'channel_disabled', 'target_removed', 'recipient_rejected', 'message_rejected',
            'rate_limited', 'provider_unavailable', 'provider_refused', 'reply_lost', 'lease_expired',
            'target_unreadable', 'expired')),
        provider_code text,
        receipt text,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        delivered_at timestamptz(3),
        first_due_at timestamptz(3),
        may_be_delivered boolean not null default false,
        primary key (user_id, notification_id, channel, target)
      );
      create index delivery_due_by_time on delivery (channel, due_at) where state in ('pending', 'sending');
      create index delivery_due_by_user on delivery (channel, provider, user_id, due_at)
        where state in ('pending', 'sending');
      create index delivery_sending on delivery (user_id, channel) where state = 'sending';
      create index delivery_open on delivery (user_id) where is_open;
      create index delivery_failed on delivery (channel, updated_at) where state = 'failed';`);

    this.addSql(`
      create table workspace (
        user_id varchar(255) collate "C" not null,
        id uuid not null,
        revision bigint not null,
        project_id varchar(255) collate "C" not null,
        status text not null constraint workspace_status_check
          check (status in ('creating', 'starting', 'running', 'stopping', 'stopped', 'error')),
        cpu_kind text not null,
        cpus int not null,
        memory_mb int not null,
        volume_size_gb int not null,
        gpu_kind text,
        keep_active boolean not null,
        machine_id text,
        private_ip text,
        git_ref text,
        preview_token text,
        error_message text,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        primary key (user_id, id)
      );
      create index workspace_changes on workspace (user_id, revision);
      create index workspace_newest on workspace (user_id, created_at, id);
      create index workspace_of_status on workspace (status, created_at, user_id, id);

      create table workspace_deletion (
        user_id varchar(255) collate "C" not null,
        id uuid not null,
        deleted_at timestamptz(3) not null,
        revision bigint not null default '0',
        primary key (user_id, id)
      );
      create index workspace_deletion_changes on workspace_deletion (user_id, revision);`);

    this.addSql(`
      create table editor_credential (
        user_id varchar(255) collate "C" not null primary key,
        version varchar(255) collate "C" not null,
        ciphertext text,
        key_id text,
        reauth_reason text constraint editor_credential_reauth_reason_check
          check (reauth_reason in ('token_expired', 'token_revoked', 'refresh_failed')),
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        refreshed_from varchar(255) collate "C",
        claim_id varchar(255) collate "C",
        claimed_until timestamptz(3),
        expires_at timestamptz(3),
        constraint editor_credential_whole check ((ciphertext is null) = (key_id is null)),
        constraint editor_credential_reason check (reauth_reason is null or ciphertext is not null),
        constraint editor_credential_claim check ((claim_id is null) = (claimed_until is null))
      );
      create index editor_credential_by_key on editor_credential (key_id);
      create index editor_credential_newest on editor_credential (created_at, user_id) where ciphertext is not null;
      create index editor_credential_failed on editor_credential (created_at, user_id) where reauth_reason is not null;
      create index editor_credential_expiring on editor_credential (expires_at, user_id)
        where expires_at is not null;`);

    this.addSql(`
      create table platform_event (
        id bigint generated by default as identity primary key,
        position bigint,
        user_id varchar(255) collate "C" not null,
        type text not null constraint platform_event_type_check
          check (type in ('notification.answered', 'notification.expired', 'notification.withdrawn',
            'notification.dismissed', 'notification.restored', 'editor_credential.stored',
            'editor_credential.refreshed', 'editor_credential.deleted', 'editor_credential.needs_reauth',
            'contact.suspended', 'user.deleted')),
        notification_id varchar(255) collate "C",
        task_id varchar(255) collate "C",
        credential_version varchar(255) collate "C",
        channel text constraint platform_event_channel_check check (channel in ('email', 'push', 'chat')),
        at timestamptz(3) not null
      );
      create index platform_event_unpositioned on platform_event (id) where position is null;
      create unique index platform_event_position on platform_event (position) where position is not null;
      create index platform_event_of_user on platform_event (user_id);

      create table platform_feed (
        is_only boolean not null default true primary key constraint platform_feed_one_row check (is_only),
        last_position bigint not null default '0',
        deleted_to bigint not null default '0'
      );
      insert into platform_feed (is_only) values (true);`);

    this.addSql(`
      create table statistics (
        is_only boolean not null default true primary key constraint statistics_one_row check (is_only),
        counts jsonb not null default '{}',
        as_of timestamptz(3),
        sweep_started_at timestamptz(3),
        swept_to varchar(255) collate "C" not null default '',
        due_at timestamptz(3) not null default now()
      );
      insert into statistics (is_only) values (true);

      create table user_statistics (
        user_id varchar(255) collate "C" not null primary key,
        epoch uuid not null,
        notifications bigint not null,
        workspaces bigint not null,
        editor_auth bigint not null,
        counts jsonb not null,
        is_settled boolean not null,
        counted_at timestamptz(3) not null
      );`);
  }
}
