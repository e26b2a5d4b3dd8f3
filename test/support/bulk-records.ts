import type { TestDatabase } from './database.ts';

/** Fills tables without their secondary indexes and then creates those, which is faster than updating them. */
export async function fillTables(
  { sql }: TestDatabase,
  tables: readonly string[],
  fill: () => Promise<unknown>,
) {
  const indexes = await sql(
    `select indexname, indexdef from pg_indexes
      where schemaname = 'public' and tablename = any($1) and indexname not like '%_pkey'`,
    [tables],
  );
  await sql(`drop index ${indexes.map(({ indexname }) => indexname).join(', ')}`);
  await fill();
  await Promise.all(indexes.map(({ indexdef }) => sql(String(indexdef))));
  await sql('vacuum analyze');
}

/** Inserts dismissed notifications of one kind for a user. */
export async function insertNotifications(
  { sql }: TestDatabase,
  user: string,
  number: number,
): Promise<void> {
  await sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               request_state, occurred_at, created_at, updated_at)
     select $1, 'n-' || n, n, 'plan_requested', 'dismissed', 'task', 'p', 'A title', '{"toolId":"t"}',
            'none', now(), now() - n * interval '1 min', now()
       from generate_series(1, $2::int) n`,
    [user, number],
  );
}

/** Inserts stopped workspaces of one project for a user. */
export async function insertWorkspaces({ sql }: TestDatabase, user: string, number: number): Promise<void> {
  await sql(
    `insert into workspace (user_id, id, revision, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb,
                            keep_active, created_at, updated_at)
     select $1, gen_random_uuid(), n, 'p-0', 'stopped', 'shared', 1, 1, 1, false,
            now() - n * interval '1 min', now()
       from generate_series(1, $2::int) n`,
    [user, number],
  );
}
