import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, textColumn, timeColumn, wordColumn } from '../database/columns.ts';
import { notificationKinds } from './notification-kind.ts';
import type { NotificationPayload } from './payload.ts';

export const notificationStatuses = ['active', 'resolved', 'dismissed'] as const;
export type NotificationStatus = (typeof notificationStatuses)[number];

/** Why a notification was resolved; `superseded` is set by the gateway alone. */
export const resolutions = ['answered', 'resumed', 'task_deleted', 'superseded'] as const;
export type Resolution = (typeof resolutions)[number];

export const NotificationSchema = defineEntity({
  name: 'Notification',
  tableName: 'notification',
  properties: {
    userId: idColumn().primary(),
    id: idColumn().primary(),
    /** The user's revision at the last change of this notification; no two of a user share one. */
    revision: p.bigint('number'),
    kind: wordColumn(notificationKinds),
    status: wordColumn(notificationStatuses),
    resolvedBy: wordColumn(resolutions).strictNullable(),
    taskId: idColumn(),
    taskName: textColumn().strictNullable(),
    projectId: idColumn(),
    projectName: textColumn().strictNullable(),
    projectRepoUrl: textColumn().strictNullable(),
    workspaceId: textColumn().strictNullable(),
    title: textColumn(),
    previewText: textColumn().strictNullable(),
    prUrl: textColumn().strictNullable(),
    /** `json`, not `jsonb`: keys come back in the order in which they were sent. */
    payload: p.json<NotificationPayload>().columnType('json'),
    occurredAt: timeColumn(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
    resolvedAt: timeColumn().strictNullable(),
    dismissedAt: timeColumn().strictNullable(),
  },
  indexes: [
    { name: 'notification_changes', properties: ['userId', 'revision'] },
    {
      name: 'notification_retired',
      properties: ['updatedAt'],
      where: "status <> 'active'",
    },
    { name: 'notification_of_task', properties: ['userId', 'taskId', 'kind', 'occurredAt'] },
    { name: 'notification_newest', properties: ['userId', 'createdAt', 'id'] },
    {
      name: 'notification_newest_by_kind_and_status',
      properties: ['userId', 'kind', 'status', 'createdAt', 'id'],
    },
  ],
  uniques: [
    { name: 'notification_one_active', properties: ['userId', 'taskId', 'kind'], where: "status = 'active'" },
  ],
});

export class Notification extends NotificationSchema.class {}
NotificationSchema.setClass(Notification);

export const TaskResolutionSchema = defineEntity({
  name: 'TaskResolution',
  tableName: 'task_resolution',
  properties: {
    userId: idColumn().primary(),
    taskId: idColumn().primary(),
    kind: wordColumn(notificationKinds).primary(),
    /** Events of the task and kind up to this time are resolved, also those that arrive later. */
    resolvedBefore: timeColumn(),
    resolvedBy: wordColumn(resolutions),
    updatedAt: timeColumn(),
  },
  indexes: [{ name: 'task_resolution_age', properties: ['updatedAt'] }],
});

class TaskResolution extends TaskResolutionSchema.class {}
TaskResolutionSchema.setClass(TaskResolution);
