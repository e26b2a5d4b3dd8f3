import { defineEntity, p } from '@mikro-orm/core';
import { enumColumn, idColumn, secretColumn, textColumn, timeColumn } from '../database/columns.ts';
import { workspaceStatuses } from './workspace.enums.ts';

export const WorkspaceSchema = defineEntity({
  name: 'Workspace',
  tableName: 'workspace',
  properties: {
    userId: idColumn().primary(),
    id: p.uuid().primary(),
    /** The user's revision at the last change of this workspace, unique among the user's workspaces. */
    revision: p.bigint('number'),
    projectId: idColumn(),
    status: enumColumn(workspaceStatuses),
    cpuKind: textColumn(),
    cpus: p.integer(),
    memoryMb: p.integer(),
    volumeSizeGb: p.integer(),
    gpuKind: textColumn().strictNullable(),
    keepActive: p.boolean(),
    machineId: textColumn().strictNullable(),
    privateIp: textColumn().strictNullable(),
    gitRef: textColumn().strictNullable(),
    previewToken: secretColumn().strictNullable(),
    errorMessage: textColumn().strictNullable(),
    /** As reported by the platform. */
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
  indexes: [
    { name: 'workspace_changes', properties: ['userId', 'revision'] },
    { name: 'workspace_newest', properties: ['userId', 'createdAt', 'id'] },
    { name: 'workspace_of_status', properties: ['status', 'createdAt', 'userId', 'id'] },
  ],
});

export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace);

export const WorkspaceDeletionSchema = defineEntity({
  name: 'WorkspaceDeletion',
  tableName: 'workspace_deletion',
  properties: {
    userId: idColumn().primary(),
    id: p.uuid().primary(),
    /** States of the workspace up to this time are ignored. */
    deletedAt: timeColumn(),
    /**
     * The user's revision of the deletion, or 0 if nothing was deleted, because no state was stored or the stored state
     * was newer.
     */
    revision: p.bigint('number').default(0),
  },
  indexes: [{ name: 'workspace_deletion_changes', properties: ['userId', 'revision'] }],
});

export class WorkspaceDeletion extends WorkspaceDeletionSchema.class {}
WorkspaceDeletionSchema.setClass(WorkspaceDeletion);
