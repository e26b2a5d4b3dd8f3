import { storeNewer } from '../../src/workspaces/put-workspaces.ts';
import type { createWorkspace } from '../change-requests.ts';
import { database, inTransaction } from './transaction.ts';

/** The input of workspaces. */
type Input = { userId: string; workspaces: readonly ReturnType<typeof createWorkspace>[] };

/** Stores workspaces with the gateway's own statement and returns the fields that the bench selects in GraphQL. */
export async function putWorkspaces({ userId, workspaces }: Input) {
  const states = JSON.stringify(
    workspaces.map((state) => ({
      id: state.id,
      project_id: state.projectId,
      status: state.status.toLowerCase(),
      cpu_kind: state.hardware.cpuKind,
      cpus: state.hardware.cpus,
      memory_mb: state.hardware.memoryMb,
      volume_size_gb: state.hardware.volumeSizeGb,
      keep_active: state.keepActive,
      machine_id: state.machineId,
      private_ip: state.privateIp,
      git_ref: state.gitRef,
      preview_token: state.previewToken,
      created_at: state.createdAt,
      updated_at: state.updatedAt,
    })),
  );
  const stored = await inTransaction([userId], (send) => send(storeNewer(database, { userId, states })));
  return stored.toSorted((a, b) => Number(a.revision) - Number(b.revision)).map(({ id }) => ({ id }));
}
