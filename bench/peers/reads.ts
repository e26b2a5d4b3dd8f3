import { pool } from './settings.ts';

/* What several peers read. The records of the bench have no null where the gateway would omit a property. */

type Hardware = {
  cpu_kind: string;
  cpus: number;
  memory_mb: number;
  volume_size_gb: number;
  gpu_kind: string | null;
};

/** Reads a user's workspaces in the format of the REST API. */
export async function readWorkspaces(userId: string | undefined) {
  const { rows } = await pool.query<Hardware>({
    name: 'workspaces',
    text: `select id, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind, keep_active, machine_id,
      private_ip, git_ref, preview_token, created_at, updated_at
      from workspace where user_id = $1 order by created_at desc, id desc`,
    values: [userId],
  });
  return rows.map(({ cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind, ...row }) => ({
    ...row,
    hardware: { cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind },
  }));
}

/** What lists are sorted by. */
export type Listed = { createdAt: Date; id: string };

/** Reads a page of the newest notifications with these columns. One more than requested is read, to detect a next page. */
export async function readPage<Row extends Listed>(userId: string, columns: string, first: number) {
  const { rows } = await pool.query<Row>({
    name: 'first-page',
    text: `select ${columns} from notification where user_id = $1 order by created_at desc, id desc limit $2`,
    values: [userId, first + 1],
  });
  const nodes = rows.slice(0, first);
  const last = nodes.at(-1);
  const endCursor = last ? Buffer.from(`${last.createdAt.getTime()} ${last.id}`).toString('base64url') : null;
  return { nodes, pageInfo: { hasNextPage: rows.length > first, endCursor } };
}
