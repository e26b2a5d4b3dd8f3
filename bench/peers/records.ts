import type {
  PlanRequestedPayload,
  QuestionRequestedPayload,
  TaskResultPayload,
} from '../../src/notifications/payload.ts';

/** The kind of a notification and its payload. */
export type KindAndPayload =
  | { kind: 'plan_requested'; payload: PlanRequestedPayload }
  | { kind: 'question_requested'; payload: QuestionRequestedPayload }
  | { kind: 'task_failed' | 'task_response_ready'; payload: TaskResultPayload };

/** The columns of a workspace in the REST API. */
export const WORKSPACE_COLUMNS =
  'id, project_id, status, cpu_kind, cpus, memory_mb, volume_size_gb, gpu_kind, keep_active, machine_id, private_ip, git_ref, preview_token, error_message, created_at, updated_at';

export type WorkspaceRow = {
  id: string;
  project_id: string;
  status: string;
  cpu_kind: string;
  cpus: number;
  memory_mb: number;
  volume_size_gb: number;
  gpu_kind: string | null;
  keep_active: boolean;
  machine_id: string | null;
  private_ip: string | null;
  git_ref: string | null;
  preview_token: string | null;
  error_message: string | null;
  created_at: Date;
  updated_at: Date;
};

/** Converts a workspace to the format of the REST API. Undefined properties are omitted. */
export function toWorkspace(row: WorkspaceRow) {
  return {
    id: row.id,
    project_id: row.project_id,
    status: row.status,
    hardware: {
      cpu_kind: row.cpu_kind,
      cpus: row.cpus,
      memory_mb: row.memory_mb,
      volume_size_gb: row.volume_size_gb,
      gpu_kind: row.gpu_kind,
    },
    keep_active: row.keep_active,
    machine_id: row.machine_id ?? undefined,
    private_ip: row.private_ip ?? undefined,
    git_ref: row.git_ref ?? undefined,
    preview_token: row.preview_token ?? undefined,
    error_message: row.status === 'error' ? row.error_message : undefined,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
