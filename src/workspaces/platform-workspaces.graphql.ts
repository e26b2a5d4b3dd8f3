import { platform } from '../auth/access.ts';
import { ValidationError, type ValidationIssue } from '../errors/gateway-errors.ts';
import { builder } from '../graphql/builder.ts';
import { boundedText, maxItems, notAheadRule, uuidRule, wholeNumberRule } from '../graphql/rules.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { deleteWorkspace } from './delete-workspace.ts';
import { putWorkspaces, type WorkspaceState } from './put-workspaces.ts';
import type { Workspace } from './workspace.entity.ts';
import { WorkspaceStatusEnum, WorkspaceType } from './workspaces.graphql.ts';

const HardwareInput = builder.inputType('HardwareInput', {
  description: 'What a workspace runs on.',
  fields: (t) => ({
    cpuKind: t.string({ required: true, ...boundedText('Kind of processor.', MAX_LENGTH.name) }),
    cpus: t.int({ required: true, description: 'Number of processors.', validate: wholeNumberRule(0) }),
    memoryMb: t.int({ required: true, description: 'Memory in megabytes.', validate: wholeNumberRule(0) }),
    volumeSizeGb: t.int({ required: true, description: 'Disk in gigabytes.', validate: wholeNumberRule(0) }),
    gpuKind: t.string(boundedText('Kind of graphics processor.', MAX_LENGTH.name)),
  }),
});

const WorkspaceInput = builder.inputType('WorkspaceInput', {
  description: 'A workspace as it is at `updatedAt`.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'A UUID.', validate: uuidRule }),
    projectId: t.id({ required: true, description: 'The project it belongs to.' }),
    status: t.field({ type: WorkspaceStatusEnum, required: true, description: 'How it stands.' }),
    hardware: t.field({ type: HardwareInput, required: true, description: 'What it runs on.' }),
    keepActive: t.boolean({ required: true, description: 'Whether it stays running when idle.' }),
    machineId: t.string(boundedText('Given when provisioned.', MAX_LENGTH.name)),
    privateIp: t.string(boundedText('Address inside the internal network.', MAX_LENGTH.name)),
    gitRef: t.string(boundedText('The current git reference.', MAX_LENGTH.gitRef)),
    previewToken: t.field({
      type: 'Secret',
      description: 'The token for preview URLs. 1 to 16,384 printable ASCII characters without spaces.',
    }),
    errorMessage: t.string(boundedText('Details of the status `ERROR`.', MAX_LENGTH.errorMessage)),
    createdAt: t.field({ type: 'DateTime', required: true, description: 'When it was made.' }),
    updatedAt: t.field({
      type: 'DateTime',
      required: true,
      description: 'When the workspace got this state; at most five minutes in the future.',
      validate: notAheadRule,
    }),
  }),
});

const PutWorkspacesInput = builder.inputType('PutWorkspacesInput', {
  description: "States of a user's workspaces.",
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Whose workspaces.' }),
    workspaces: t.field({
      type: [WorkspaceInput],
      required: true,
      description: 'Up to 500, no id twice.',
      validate: maxItems(500),
    }),
  }),
});

const PutWorkspacesPayload = builder
  .objectRef<{ workspaces: Workspace[] }>('PutWorkspacesPayload')
  .implement({
    description: 'What became of the states.',
    fields: (t) => ({
      workspaces: t.expose('workspaces', {
        type: [WorkspaceType],
        description: 'Those that were newer than what was known, as they are stored.',
      }),
    }),
  });

const DeleteWorkspaceInput = builder.inputType('DeleteWorkspaceInput', {
  description: 'A workspace that is gone.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Whose workspace.' }),
    id: t.id({ required: true, description: 'Which one, a UUID.', validate: uuidRule }),
    deletedAt: t.field({
      type: 'DateTime',
      required: true,
      description: 'When the workspace was deleted; at most five minutes in the future.',
      validate: notAheadRule,
    }),
  }),
});

const DeleteWorkspacePayload = builder.objectRef<{ deleted: boolean }>('DeleteWorkspacePayload').implement({
  description: 'What became of a deletion.',
  fields: (t) => ({
    deleted: t.exposeBoolean('deleted', {
      description: 'False where none was stored, or its state is newer than the deletion.',
    }),
  }),
});

builder.mutationFields((t) => ({
  putWorkspaces: t.field({
    access: platform('platform:write'),
    type: PutWorkspacesPayload,
    nullable: true,
    description: 'Stores the states that are newer than what is known, all or none.',
    args: { input: t.arg({ type: PutWorkspacesInput, required: true, description: 'The states.' }) },
    resolve: async (_root, { input }, context) => {
      const states = input.workspaces.map(toState);
      const twice = repeated(states);
      if (twice.length > 0) throw new ValidationError(twice);
      return { workspaces: await putWorkspaces(context, input.userId, states) };
    },
  }),
  deleteWorkspace: t.field({
    access: platform('platform:write'),
    type: DeleteWorkspacePayload,
    nullable: true,
    description: 'Removes a workspace; states from before `deletedAt` that come later do not bring it back.',
    args: { input: t.arg({ type: DeleteWorkspaceInput, required: true, description: 'Which one.' }) },
    resolve: async (_root, { input: { userId, id, deletedAt } }, context) => ({
      deleted: await deleteWorkspace(context, userId, id.toLowerCase(), deletedAt),
    }),
  }),
}));

function toState({ hardware, ...given }: typeof WorkspaceInput.$inferInput): WorkspaceState {
  return {
    ...given,
    ...hardware,
    id: given.id.toLowerCase(),
    gpuKind: hardware.gpuKind ?? null,
    machineId: given.machineId ?? null,
    privateIp: given.privateIp ?? null,
    gitRef: given.gitRef ?? null,
    previewToken: given.previewToken ?? null,
    errorMessage: given.errorMessage ?? null,
  };
}

function repeated(states: readonly WorkspaceState[]): ValidationIssue[] {
  const first = new Map<string, number>();
  return states.flatMap(({ id }, index) => {
    if (!first.has(id)) {
      first.set(id, index);
      return [];
    }
    const path = ['input', 'workspaces', index, 'id'];
    return [{ path, message: 'is given twice', value: id }];
  });
}
