import { z } from 'zod';
import { route } from './route.ts';

const time = z.iso.datetime();

const common = {
  id: z.guid(),
  project_id: z.string(),
  status: z.enum(['creating', 'starting', 'running', 'stopping', 'stopped']),
  hardware: z.strictObject({
    cpu_kind: z.string(),
    cpus: z.int(),
    memory_mb: z.int(),
    volume_size_gb: z.int(),
    gpu_kind: z.string().nullable(),
  }),
  keep_active: z.boolean(),
  machine_id: z.string().optional(),
  private_ip: z.string().optional(),
  git_ref: z.string().optional(),
  preview_token: z.string().optional(),
  created_at: time,
  updated_at: time,
};

/** Workspace of the specification; `error_message` is there only while the status is `error`. */
const workspace = z.discriminatedUnion('status', [
  z.strictObject(common),
  z.strictObject({ ...common, status: z.literal('error'), error_message: z.string().nullable() }),
]);

/** All workspaces of the caller, over all projects. */
export const workspaces = [
  route({
    method: 'get',
    path: '/user/workspaces',
    field: 'workspaces',
    bind: {},
    paged: true,
    reply: { status: 200, name: 'workspaces', from: 'nodes', shape: z.array(workspace) },
  }),
];
