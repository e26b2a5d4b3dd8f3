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

/**
 * Inserts notifications of a user: dismissed plans of one task, each a minute older than the one before. `columns` are
 * SQL expressions of other values, in which `n` is the number of the notification, from 1.
 */
export async function insertNotifications(
  { sql }: TestDatabase,
  user: string,
  number: number,
  columns: Record<string, string> = {},
): Promise<void> {
  const values = {
    user_id: '$1::text',
    id: `'n-' || n`,
    revision: 'n',
    kind: `'plan_requested'`,
    status: `'dismissed'`,
    task_id: `'task'`,
    project_id: `'p'`,
    title: `'A title'`,
    payload: `'{"toolId":"t"}'`,
    request_state: `'none'`,
    occurred_at: 'now()',
    created_at: `now() - n * interval '1 min'`,
    updated_at: 'now()',
    ...columns,
  };
  await sql(
    `insert into notification (${Object.keys(values).join()})
     select ${Object.values(values).join()} from generate_series(1, $2::int) n`,
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
