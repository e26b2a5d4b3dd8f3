import { z } from 'zod';
import { idSchema } from '../src/values/constraints.ts';
import { isUuid } from '../src/values/text.ts';
import { workspaceStatuses } from '../src/workspaces/workspace.enums.ts';
import { workspacesField } from '../src/workspaces/workspaces.graphql.ts';
import { query, type Route } from './route.ts';
import { nullableText, onlyWhile, optionalText, timestamp } from './wire.ts';

const hardware = z
  .strictObject({
    cpu_kind: z.string().describe('The kind of processor.'),
    cpus: z.int().describe('The number of processors.'),
    memory_mb: z.int().describe('The size of the memory in megabytes.'),
    volume_size_gb: z.int().describe('The size of the volume in gigabytes.'),
    gpu_kind: nullableText('The kind of graphics processor. `null` if there is none.'),
  })
  .meta({ id: 'WorkspaceHardware', description: 'The hardware that a workspace runs on.' });

const workspaceStatus = z
  .enum(workspaceStatuses)
  .meta({ id: 'WorkspaceStatus', description: 'The status of a workspace.' });

/** The `Workspace` of the specification. */
const workspace = z
  .strictObject({
    id: z
      .guid()
      .describe("The workspace's ID: a UUID, unique among the user's workspaces but not across users."),
    project_id: z.string().describe('The ID of the project that the workspace belongs to.'),
    status: workspaceStatus,
    hardware,
    keep_active: z.boolean().describe('Whether the workspace stays running when idle.'),
    machine_id: optionalText(
      'The ID of the machine that the workspace runs on. Omitted until it is provisioned.',
    ),
    private_ip: optionalText("The workspace's address in the internal network. Omitted if it has none."),
    git_ref: optionalText('The current git reference in the workspace. Omitted if unknown.'),
    preview_token: optionalText(
      "The token for the workspace's preview URLs, a secret. Omitted if there is none.",
    ),
    error_message: onlyWhile(
      'status',
      'error',
      nullableText(
        'The details of the error, `null` if unknown. Present exactly while the status is `error`.',
      ),
    ),
    created_at: timestamp.describe(
      'Timestamp of creation, as reported by the platform. Lists are sorted by it.',
    ),
    updated_at: timestamp.describe('Timestamp of the last change, as reported by the platform.'),
  })
  .meta({ id: 'Workspace', description: 'A development workspace of a user.' });

const list: Route = {
  method: 'get',
  path: '/user/workspaces',
  field: workspacesField,
  tag: 'Workspaces',
  summary: 'List all workspaces',
  description:
    "Returns the caller's workspaces in all projects, newest first by `created_at`, then by `id` in descending order. " +
    'The specification shows no path for this operation, so `/user/workspaces` and `/workspaces` both return it.',
  bind: {
    filter: {
      projectIds: query('project_id', idSchema, 'Filter by project. Defaults to all projects.'),
      statuses: query(
        'status',
        workspaceStatus,
        'Filter by status. Can be repeated. Defaults to all statuses.',
      ),
    },
  },
  paged: { isId: isUuid, pageSize: 500 },
  reply: { name: 'workspaces', from: 'nodes', shape: z.array(workspace), description: 'The workspaces.' },
};

/** The list of the caller's workspaces. */
export const workspaces: readonly Route[] = [
  list,
  { ...list, path: '/workspaces', operationId: 'allWorkspaces' },
];
