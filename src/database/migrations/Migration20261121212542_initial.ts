import { Migration } from '@mikro-orm/migrations';

export class Migration20261121212542_initial extends Migration {
  override name = 'Migration20261121212542_initial';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "editor_credential" ("user_id" varchar(255) collate "C" not null, "version" int not null, "ciphertext" text null, "key_id" text null, "reauth_reason" text null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("user_id"));`,
    );
    this.addSql(`create index "editor_credential_by_key" on "editor_credential" ("key_id");`);
    this.addSql(
      `alter table "editor_credential" add constraint "editor_credential_whole" check (("ciphertext" is null) = ("key_id" is null));`,
    );
    this.addSql(
      `alter table "editor_credential" add constraint "editor_credential_reason" check ("reauth_reason" is null or "ciphertext" is not null);`,
    );
    this.addSql(
      `alter table "editor_credential" add constraint "editor_credential_reauth_reason_check" check ("reauth_reason" in ('token_expired', 'token_revoked', 'refresh_failed'));`,
    );
    this.addSql(
      `create or replace function "editor_credential_editor_credential_announce_fn"() returns trigger as $$ begin perform pg_notify('account_changes', json_build_object('topic', 'editorAuth', 'user', new.user_id)::text); return null; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "editor_credential_announce" AFTER INSERT OR UPDATE on "editor_credential" for each ROW execute function "editor_credential_editor_credential_announce_fn"();`,
    );

    this.addSql(
      `create table "notification" ("user_id" varchar(255) collate "C" not null, "id" varchar(255) collate "C" not null, "revision" bigint not null, "kind" text not null, "status" text not null, "resolved_by" text null, "task_id" varchar(255) collate "C" not null, "task_name" text null, "project_id" varchar(255) collate "C" not null, "project_name" text null, "project_repo_url" text null, "workspace_id" text null, "title" text not null, "preview_text" text null, "pr_url" text null, "payload" json not null, "occurred_at" timestamptz(3) not null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, "resolved_at" timestamptz(3) null, "dismissed_at" timestamptz(3) null, primary key ("user_id", "id"));`,
    );
    this.addSql(`create index "notification_changes" on "notification" ("user_id", "revision");`);
    this.addSql(
      `create index "notification_retired" on "notification" ("updated_at") where status <> 'active';`,
    );
    this.addSql(`create index "notification_newest" on "notification" ("user_id", "created_at", "id");`);
    this.addSql(
      `create index "notification_newest_by_status" on "notification" ("user_id", "status", "created_at", "id");`,
    );
    this.addSql(
      `create unique index "notification_one_active" on "notification" ("user_id", "task_id", "kind") where status = 'active';`,
    );
    this.addSql(
      `alter table "notification" add constraint "notification_kind_check" check ("kind" in ('plan_requested', 'question_requested', 'task_failed', 'task_response_ready'));`,
    );
    this.addSql(
      `alter table "notification" add constraint "notification_status_check" check ("status" in ('active', 'resolved', 'dismissed'));`,
    );
    this.addSql(
      `alter table "notification" add constraint "notification_resolved_by_check" check ("resolved_by" in ('answered', 'resumed', 'task_deleted', 'superseded'));`,
    );

    this.addSql(
      `create table "notification_preference" ("user_id" varchar(255) collate "C" not null, "notification_kind" text not null, "email_enabled" boolean not null, "push_enabled" boolean not null, "chat_dm_enabled" boolean not null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("user_id", "notification_kind"));`,
    );
    this.addSql(
      `alter table "notification_preference" add constraint "notification_preference_notification_kind_check" check ("notification_kind" in ('plan_requested', 'question_requested', 'task_failed', 'task_response_ready'));`,
    );

    this.addSql(
      `create table "user_revision" ("user_id" varchar(255) collate "C" not null, "started_at" timestamptz(3) not null default now(), "notifications" bigint not null default '0', "workspaces" bigint not null default '0', primary key ("user_id"));`,
    );
    this.addSql(
      `create or replace function "user_revision_user_revision_announce_fn"() returns trigger as $$ begin if tg_op = 'DELETE' then perform pg_notify('account_changes', json_build_object('topic', 'user', 'user', old.user_id)::text); return null; end if; if new.notifications <> coalesce(old.notifications, 0) then perform pg_notify('account_changes', json_build_object('topic', 'notifications', 'user', new.user_id, 'revision', new.notifications)::text); end if; if new.workspaces <> coalesce(old.workspaces, 0) then perform pg_notify('account_changes', json_build_object('topic', 'workspaces', 'user', new.user_id, 'revision', new.workspaces)::text); end if; return null; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "user_revision_announce" AFTER INSERT OR UPDATE OR DELETE on "user_revision" for each ROW execute function "user_revision_user_revision_announce_fn"();`,
    );

    this.addSql(
      `create table "workspace" ("user_id" varchar(255) collate "C" not null, "id" uuid not null, "revision" bigint not null, "project_id" varchar(255) collate "C" not null, "status" text not null, "cpu_kind" text not null, "cpus" int not null, "memory_mb" int not null, "volume_size_gb" int not null, "gpu_kind" text null, "keep_active" boolean not null, "machine_id" text null, "private_ip" text null, "git_ref" text null, "preview_token" text null, "error_message" text null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("user_id", "id"));`,
    );
    this.addSql(`create index "workspace_changes" on "workspace" ("user_id", "revision");`);
    this.addSql(`create index "workspace_newest" on "workspace" ("user_id", "created_at", "id");`);
    this.addSql(
      `create index "workspace_newest_by_status" on "workspace" ("user_id", "status", "created_at", "id");`,
    );
    this.addSql(
      `create index "workspace_newest_by_project" on "workspace" ("user_id", "project_id", "created_at", "id");`,
    );
    this.addSql(
      `alter table "workspace" add constraint "workspace_status_check" check ("status" in ('creating', 'starting', 'running', 'stopping', 'stopped', 'error'));`,
    );

    this.addSql(
      `create table "workspace_deletion" ("user_id" varchar(255) collate "C" not null, "id" uuid not null, "deleted_at" timestamptz(3) not null, "revision" bigint not null default '0', primary key ("user_id", "id"));`,
    );
    this.addSql(`create index "workspace_deletion_changes" on "workspace_deletion" ("user_id", "revision");`);
  }
}
