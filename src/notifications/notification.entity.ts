import { defineEntity, p } from '@mikro-orm/core';
import { enumColumn, idColumn, textColumn, timeColumn } from '../database/columns.ts';
import { requestStates } from './answers/answer.enums.ts';
import type { Answer, Receipt } from './answers/answer.ts';
import { notificationKinds, notificationStatuses, resolutions } from './notification.enums.ts';
import type { NotificationPayload } from './payload.ts';

/**
 * Is always true, and only lists of all users have this condition. Without it, PostgreSQL would also use their indexes to
 * find the notifications of one user, among those of all users, until the table is analyzed.
 */
export const ofAllUsers = "created_at > '-infinity'";

export const NotificationSchema = defineEntity({
  name: 'Notification',
  tableName: 'notification',
  properties: {
    userId: idColumn().primary(),
    id: idColumn().primary(),
    /** The user's revision at the last change of this notification, unique among the user's notifications. */
    revision: p.bigint('number'),
    kind: enumColumn(notificationKinds),
    status: enumColumn(notificationStatuses),
    resolution: enumColumn(resolutions).strictNullable(),
    taskId: idColumn(),
    /** Whether a task token published the notification, which counts for the task's limits: see task-budget.ts. */
    byTask: p.boolean().default(false),
    /** The tool ID in the payload of a plan or a question. */
    toolId: textColumn().strictNullable(),
    taskName: textColumn().strictNullable(),
    projectId: idColumn(),
    projectName: textColumn().strictNullable(),
    projectRepoUrl: textColumn().strictNullable(),
    workspaceId: textColumn().strictNullable(),
    title: textColumn(),
    previewText: textColumn().strictNullable(),
    prUrl: textColumn().strictNullable(),
    /** `json` instead of `jsonb`, to preserve the order of keys. */
    payload: p.json<NotificationPayload>().columnType('json'),
    /** The channels over which the gateway does not deliver it: see channel-decision.ts. */
    skippedChannels: p.smallint().default(0),
    occurredAt: timeColumn(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
    resolvedAt: timeColumn().strictNullable(),
    dismissedAt: timeColumn().strictNullable(),
    /**
     * At most one notification of a task, kind and slot is active. `''` is the slot of the task and kind; a publication
     * that supersedes less has a slot of its own: see `findSlot`.
     */
    slot: textColumn().default(''),
    requestState: enumColumn(requestStates).default('none'),
    /** When an open request expires. Null if it waits for ever. */
    expiresAt: timeColumn().strictNullable(),
    /** The duration by which the publisher gave `expiresAt`. */
    expiresInSeconds: p.integer().strictNullable(),
    /** The answer that a request has if it expires. Null if it then has none. */
    onExpiry: p.json<Answer>().columnType('json').strictNullable(),
    answer: p.json<Answer>().columnType('json').strictNullable(),
    receipt: p.json<Receipt>().columnType('json').strictNullable(),
  },
  indexes: [
    { name: 'notification_changes', properties: ['userId', 'revision'] },
    { name: 'notification_newest', properties: ['userId', 'createdAt', 'id'] },
    { name: 'notification_active', properties: ['userId', 'createdAt', 'id'], where: "status = 'active'" },
    {
      name: 'notification_of_task',
      properties: ['userId', 'requestState', 'taskId', 'byTask', 'kind', 'slot', 'occurredAt'],
    },
    { name: 'notification_of_all', properties: ['createdAt', 'userId', 'id'], where: ofAllUsers },
    {
      name: 'notification_open',
      properties: ['createdAt', 'userId', 'id'],
      where: `request_state = 'open' and ${ofAllUsers}`,
    },
    {
      name: 'notification_expiry',
      properties: ['expiresAt'],
      where: "request_state = 'open' and expires_at is not null",
    },
    { name: 'notification_retired', properties: ['updatedAt'], where: "status <> 'active'" },
  ],
  checks: [
    {
      name: 'notification_open_request',
      expression: `"request_state" <> 'open' or "resolved_at" is null`,
    },
  ],
  uniques: [
    {
      name: 'notification_one_active_in_slot',
      properties: ['userId', 'taskId', 'kind', 'slot'],
      where: "status = 'active'",
    },
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
    kind: enumColumn(notificationKinds).primary(),
    /** Notifications of the task and kind that occurred up to this time are resolved, even if they arrive later. */
    resolvedUpTo: timeColumn(),
    resolution: enumColumn(resolutions),
    updatedAt: timeColumn(),
  },
  indexes: [{ name: 'task_resolution_age', properties: ['updatedAt'] }],
});

export class TaskResolution extends TaskResolutionSchema.class {}
TaskResolutionSchema.setClass(TaskResolution);
