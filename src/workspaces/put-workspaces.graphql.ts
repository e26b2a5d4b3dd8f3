import { platform } from '../auth/access.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { ValidationIssue } from '../errors/issue.ts';
import { builder } from '../graphql/builder.ts';
import { boundedText, maxItems, notAheadRule, uuidRule, wholeNumberRule } from '../graphql/rules.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { putWorkspaces, type WorkspaceState } from './put-workspaces.ts';
import type { Workspace } from './workspace.entity.ts';
import { WorkspaceStatusEnum, WorkspaceType } from './workspaces.graphql.ts';

const HardwareInput = builder.inputType('HardwareInput', {
  description: 'The hardware that a workspace runs on.',
  fields: (t) => ({
    cpuKind: t.string({ required: true, ...boundedText('The kind of processor.', MAX_LENGTH.name) }),
    cpus: t.int({ required: true, description: 'The number of processors.', validate: wholeNumberRule(0) }),
    memoryMb: t.int({
      required: true,
      description: 'The size of the memory in megabytes.',
      validate: wholeNumberRule(0),
    }),
    volumeSizeGb: t.int({
      required: true,
      description: 'The size of the volume in gigabytes.',
      validate: wholeNumberRule(0),
    }),
    gpuKind: t.string(boundedText('The kind of graphics processor, if there is one.', MAX_LENGTH.name)),
  }),
});

const WorkspaceInput = builder.inputType('WorkspaceInput', {
  description: 'The state of a workspace at `updatedAt`.',
  fields: (t) => ({
    id: t.id({ required: true, description: "The workspace's ID, a UUID.", validate: uuidRule }),
    projectId: t.id({ required: true, description: 'The ID of the project that the workspace belongs to.' }),
    status: t.field({ type: WorkspaceStatusEnum, required: true, description: "The workspace's status." }),
    hardware: t.field({
      type: HardwareInput,
      required: true,
      description: 'The hardware that the workspace runs on.',
    }),
    keepActive: t.boolean({
      required: true,
      description: 'Whether the workspace stays running when idle.',
    }),
    machineId: t.string(
      boundedText(
        'The ID of the machine that the workspace runs on, once it is provisioned.',
        MAX_LENGTH.name,
      ),
    ),
    privateIp: t.string(boundedText("The workspace's address in the internal network.", MAX_LENGTH.name)),
    gitRef: t.string(boundedText('The current git reference in the workspace.', MAX_LENGTH.gitRef)),
    previewToken: t.field({
      type: 'Secret',
      description: "The token for the workspace's preview URLs.",
    }),
    errorMessage: t.string(
      boundedText('The details of the error, if the status is `ERROR`.', MAX_LENGTH.errorMessage),
    ),
    createdAt: t.field({
      type: 'DateTime',
      required: true,
      description: 'Timestamp of creation. Lists are sorted by it.',
    }),
    updatedAt: t.field({
      type: 'DateTime',
      required: true,
      description: 'Timestamp of this state. At most five minutes in the future.',
      validate: notAheadRule,
    }),
  }),
});

const PutWorkspacesInput = builder.inputType('PutWorkspacesInput', {
  description: "The states of a user's workspaces.",
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    workspaces: t.field({
      type: [WorkspaceInput],
      required: true,
      description: 'The states, at most 500. An ID must not be repeated.',
      validate: maxItems(500),
    }),
  }),
});

const PutWorkspacesPayload = builder
  .objectRef<{ workspaces: Workspace[] }>('PutWorkspacesPayload')
  .implement({
    description: 'Result of storing workspace states.',
    fields: (t) => ({
      workspaces: t.expose('workspaces', {
        type: [WorkspaceType],
        description: 'The workspaces whose states were stored.',
      }),
    }),
  });

builder.mutationField('putWorkspaces', (t) =>
  t.field({
    access: platform('platform:workspaces'),
    type: PutWorkspacesPayload,
    nullable: true,
    description:
      "Stores states of a user's workspaces in one transaction. A state is stored only if its `updatedAt` is newer than that of the stored state, if there is one, and newer than the deletion of the workspace, if it was deleted. Other states are ignored.",
    args: { input: t.arg({ type: PutWorkspacesInput, required: true, description: 'The states to store.' }) },
    resolve: async (_root, { input }, context) => {
      const states = input.workspaces.map(toState);
      const issues = findRepeatedIds(states);
      if (issues.length > 0) throw new ValidationError(issues);
      return { workspaces: await putWorkspaces(context, input.userId, states) };
    },
  }),
);

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

function findRepeatedIds(states: readonly WorkspaceState[]): ValidationIssue[] {
  const seen = new Set<string>();
  return states.flatMap(({ id }, index) => {
    if (!seen.has(id)) {
      seen.add(id);
      return [];
    }
    const path = ['input', 'workspaces', index, 'id'];
    return [{ path, message: 'must not be repeated', value: id }];
  });
}
