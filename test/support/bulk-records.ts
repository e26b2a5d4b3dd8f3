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

const age = "now() - n * interval '1 min'";

/** SQL expressions of the columns of the n-th record. */
const columns = {
  notification: {
    user_id: "'user-' || n",
    id: "'n-' || n",
    revision: 'n',
    kind: "'plan_requested'",
    status: "'dismissed'",
    task_id: "'task'",
    project_id: "'p'",
    title: "'A title'",
    payload: `'{"toolId":"t"}'`,
    request_state: "'none'",
    occurred_at: 'now()',
    created_at: age,
    updated_at: 'now()',
  },
  workspace: {
    user_id: "'user-' || n",
    id: 'gen_random_uuid()',
    revision: 'n',
    project_id: "'p-0'",
    status: "'stopped'",
    cpu_kind: "'shared'",
    cpus: '1',
    memory_mb: '1',
    volume_size_gb: '1',
    keep_active: 'false',
    created_at: age,
    updated_at: 'now()',
  },
};

/**
 * Inserts dismissed notifications of one kind and task, or stopped workspaces of one project, a minute apart, each of a
 * user of its own, unless other SQL expressions of columns are given.
 */
export async function insertRecords(
  { sql }: Pick<TestDatabase, 'sql'>,
  table: keyof typeof columns,
  number: number,
  given: Readonly<Record<string, string>> = {},
): Promise<void> {
  const all: Record<string, string> = { ...columns[table], ...given };
  await sql(
    `insert into ${table} (${Object.keys(all)}) select ${Object.values(all)} from generate_series(1, $1::int) n`,
    [number],
  );
}

/** Inserts such notifications of one user. */
export const insertNotifications = (
  database: Pick<TestDatabase, 'sql'>,
  user: string,
  number: number,
  given: Readonly<Record<string, string>> = {},
): Promise<void> => insertRecords(database, 'notification', number, { user_id: `'${user}'`, ...given });
