import { z } from 'zod';
import { idSchema } from '../src/values/constraints.ts';
import { workspaceStatuses } from '../src/workspaces/workspace.enums.ts';
import { query, route } from './route.ts';
import { timestamp } from './timestamp.ts';

const hardware = z
  .strictObject({
    cpu_kind: z.string().describe('The kind of its processors.'),
    cpus: z.int().describe('How many processors it has.'),
    memory_mb: z.int().describe('Its memory in MB.'),
    volume_size_gb: z.int().describe('The size of its volume in GB.'),
    gpu_kind: z.string().nullable().describe('The kind of its graphics processor, if it has one.'),
  })
  .meta({ id: 'WorkspaceHardware', description: 'What a workspace runs on.' });

const workspaceStatus = z
  .enum(workspaceStatuses)
  .meta({ id: 'WorkspaceStatus', description: 'The status of a workspace.' });

const common = {
  id: z.guid().describe('The workspace.'),
  project_id: z.string().describe('The project that it belongs to.'),
  status: z.enum(workspaceStatuses).exclude(['error']).describe('How the workspace stands.'),
  hardware,
  keep_active: z.boolean().describe('Whether it stays running when idle.'),
  machine_id: z.string().optional().describe('Its machine; left out until it is provisioned.'),
  private_ip: z.string().optional().describe('Its address inside the internal network.'),
  git_ref: z.string().optional().describe('The git reference that it is on.'),
  preview_token: z.string().optional().describe('A token for its preview URLs. Treat it as a secret.'),
  created_at: timestamp.describe('When the workspace was made, as the platform tells it.'),
  updated_at: timestamp.describe('When the workspace last changed, as the platform tells it.'),
};

/** Workspace of the specification; `error_message` is there only while the status is `error`. */
const workspace = z
  .discriminatedUnion('status', [
    z.strictObject(common).meta({ id: 'HealthyWorkspace', description: 'A workspace without an error.' }),
    z
      .strictObject({
        ...common,
        status: z.literal('error').describe('Something went wrong.'),
        error_message: z.string().nullable().describe('What went wrong, if it is known.'),
      })
      .meta({ id: 'FailedWorkspace', description: 'A workspace with an error.' }),
  ])
  .meta({
    id: 'Workspace',
    description: 'A workspace. `error_message` is there, maybe null, only while the status is `error`.',
  });

/** All workspaces of the caller, over all projects. */
export const workspaces = [
  route({
    method: 'get',
    path: '/user/workspaces',
    field: 'workspaces',
    tag: 'Workspaces',
    summary: 'List all workspaces',
    description:
      'Those of the caller, over all projects unless filtered, newest first by `created_at`, then by `id`. The `ETag` ' +
      'is that of the whole list, so it also changes with workspaces that a filter leaves out. The specification ' +
      'shows the operation without its path; this one is a decision of the gateway.',
    bind: {
      projectId: query('project_id', idSchema, 'Only workspaces of this project.'),
      status: query('status', workspaceStatus, 'Only workspaces with this status; may be repeated.'),
    },
    paged: true,
    reply: {
      status: 200,
      name: 'workspaces',
      from: 'nodes',
      shape: z.array(workspace),
      description: 'The workspaces.',
    },
  }),
];
