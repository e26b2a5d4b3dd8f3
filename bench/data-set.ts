import type pg from 'pg';

/** Users named `prefix-1`, `prefix-2` ..., each with so many records. */
export type Population = { prefix: string; users: number; each: number };

/** The names of a population. */
export function namesOf({ prefix, users }: Population): string[] {
  return Array.from({ length: users }, (_, index) => `${prefix}-${index + 1}`);
}

/*
 * Records by arithmetic: always the same, every field filled as in use, written by PostgreSQL itself. The records of
 * the users lie between each other, as they do where all of them come over time.
 */

const NUMBERED = `
  with numbered as (
    select n, $1 || '-' || n % $2::int + 1 as user_id, n / $2::int as position, md5($1 || n) as word
    from generate_series(0, $2::int * $3::int - 1) as n
  )`;

const NOTIFICATIONS = `
  insert into notification (
    user_id, id, revision, kind, status, resolved_by, task_id, task_name, project_id, project_name, project_repo_url,
    workspace_id, title, preview_text, pr_url, payload, occurred_at, created_at, updated_at, resolved_at, dismissed_at
  )
  ${NUMBERED}, described as (
    select *,
      (array['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'])[position % 4 + 1] as kind,
      case when $4::text is not null then $4 when position % 10 < 4 then 'active'
        when position % 10 < 7 then 'resolved' else 'dismissed' end as status,
      timestamptz '2026-01-05 08:00:00Z' + n * interval '1.037 seconds' as created_at
    from numbered
  )
  select
    user_id, word::uuid::text, position + 1, kind, status, case status when 'resolved' then 'answered' end,
    'task-' || word, 'Move the cart to the database, part ' || position, 'project-' || position % 7,
    'Web shop ' || position % 7, 'https://git.example.com/acme/web-shop-' || position % 7 || '.git',
    md5(word)::uuid::text, 'Step ' || position || ' needs an answer before the task can go on',
    'The cart lies in the session today; step ' || position || ' moves it to a table of its own.',
    'https://git.example.com/acme/web-shop/pulls/' || position,
    case kind
      when 'plan_requested' then json_build_object(
        'toolId', 'toolu_' || word,
        'input', json_build_object(
          'summary', 'Move the cart from the session to the database, part ' || position,
          'plan', E'1. Add a table for carts and a key to its user\\n2. Write through the session to the table\\n'
            || E'3. Read from the table, and from the session where it has no row yet\\n4. Drop the session copy\\n'
            || '5. Tell the people of the warehouse, who read the old one: ' || word,
          'allowedTools', json_build_array('edit', 'test')))
      when 'question_requested' then json_build_object(
        'toolId', 'toolu_' || word,
        'input', json_build_object('questions', json_build_array(json_build_object(
          'question', 'How shall half a cent of order ' || word || ' be rounded?',
          'options', json_build_array(
            json_build_object('label', 'Half to even', 'description', 'What the ledger does today',
              'preview', '0.125 becomes 0.12'),
            json_build_object('label', 'Half up', 'description', 'What the invoices print',
              'preview', '0.125 becomes 0.13')),
          'header', 'Rounding', 'id', 'rounding', 'multiSelect', false))))
      else json_build_object(
        'taskStatus', case kind when 'task_failed' then 'errored' else 'awaiting_input' end,
        'message', 'The tests of the checkout ran out of memory twice, after ' || position
          || ' of them had passed. The log is kept under ' || word || '.',
        'messageLabel', 'Test run', 'messageTimestamp', '2026-01-05T08:00:00.000Z')
    end,
    created_at - interval '2 seconds', created_at, created_at + interval '3 seconds',
    case status when 'resolved' then created_at + interval '3 seconds' end,
    case status when 'dismissed' then created_at + interval '3 seconds' end
  from described order by n`;

const WORKSPACES = `
  insert into workspace (
    user_id, id, revision, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind, keep_active,
    machine_id, private_ip, git_ref, preview_token, error_message, created_at, updated_at
  )
  ${NUMBERED}
  select
    user_id, word::uuid, position + 1, 'project-' || position % 7,
    (array['creating', 'starting', 'running', 'stopping', 'stopped', 'error'])[position % 6 + 1],
    case position % 5 when 0 then 'dedicated' else 'shared' end, 2 + position % 5, 4096, 20 + position % 9,
    case position % 5 when 0 then 'l4' end, position % 3 = 0,
    case when position % 6 > 0 then 'machine-' || n end, case when position % 6 > 0 then '10.20.0.' || n % 256 end,
    'refs/heads/cart-' || position, 'preview-' || word,
    case position % 6 when 5 then 'No machine with an l4 is free.' end,
    timestamptz '2026-01-05 08:00:00Z' + n * interval '1.037 seconds',
    timestamptz '2026-01-05 09:00:00Z' + n * interval '1.037 seconds'
  from numbered order by n`;

/** Of every tenth user the credential has failed. The pair itself is never opened by the bench. */
const CREDENTIALS = `
  insert into editor_credential (user_id, version, ciphertext, key_id, reauth_reason, created_at, updated_at)
  ${NUMBERED}
  select user_id, word::uuid::text, repeat(word, 20), $4, case n % 10 when 9 then 'token_expired' end,
    timestamptz '2026-01-05 08:00:00Z', timestamptz '2026-01-05 08:00:00Z'
  from numbered`;

/** How far each user's changes have come. */
const REVISIONS = `
  insert into user_revision (user_id, notifications, workspaces)
  select user_id, sum(notifications), sum(workspaces) from (
    select user_id, count(*) as notifications, 0 as workspaces from notification group by user_id
    union all select user_id, 0, count(*) from workspace group by user_id
  ) as counts group by user_id`;

/** Notifications of every kind, of every status unless one is given. */
export async function insertNotifications(client: pg.Client, population: Population, status?: 'active') {
  await client.query(NOTIFICATIONS, [...valuesOf(population), status ?? null]);
}

/** Workspaces of every status. */
export async function insertWorkspaces(client: pg.Client, population: Population) {
  await client.query(WORKSPACES, valuesOf(population));
}

/** An editor credential a user. */
export async function insertCredentials(client: pg.Client, population: Population, keyId: string) {
  await client.query(CREDENTIALS, [...valuesOf({ ...population, each: 1 }), keyId]);
}

const TABLES = ['notification', 'notification_preference', 'user_revision', 'workspace', 'editor_credential'];

/**
 * To be called when all records are in. From now on the bench tidies up itself, between timed runs, so that
 * PostgreSQL does not during one.
 */
export async function finishDataSet(client: pg.Client) {
  await client.query(REVISIONS);
  for (const table of TABLES) {
    await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
  }
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

function valuesOf({ prefix, users, each }: Population): unknown[] {
  return [prefix, users, each];
}
