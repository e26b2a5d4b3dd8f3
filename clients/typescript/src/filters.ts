import type { NotificationFilter, WorkspaceFilter } from './generated/types.ts';
import type { NotificationCard, WorkspaceCard } from './records.ts';

/** Whether a condition allows a value: if it is omitted, it allows all. */
function allows(condition: readonly string[] | null | undefined, value: string | undefined): boolean {
  return condition == null || (value !== undefined && condition.includes(value));
}

/** Whether a notification meets a filter, as the gateway decides it. */
export function matchesNotification(filter: NotificationFilter, card: NotificationCard): boolean {
  const { createdFrom, createdBefore } = filter;
  return (
    allows(filter.statuses, card.status) &&
    allows(filter.kinds, card.kind) &&
    allows(filter.requestStates, card.request?.state) &&
    allows(filter.projectIds, card.task.projectId) &&
    allows(filter.taskIds, card.task.id) &&
    (createdFrom == null || Date.parse(card.createdAt) >= Date.parse(createdFrom)) &&
    (createdBefore == null || Date.parse(card.createdAt) < Date.parse(createdBefore))
  );
}

/** Whether a workspace meets a filter, as the gateway decides it. */
export function matchesWorkspace(filter: WorkspaceFilter, card: WorkspaceCard): boolean {
  return allows(filter.statuses, card.status) && allows(filter.projectIds, card.projectId);
}

/** Returns the same text for filters with the same conditions, in any order. */
export function filterKey(filter: NotificationFilter | WorkspaceFilter): string {
  const conditions = Object.entries(filter)
    .filter(([, condition]) => condition != null)
    .map(([name, condition]) => [name, Array.isArray(condition) ? [...new Set(condition)].sort() : condition])
    .sort();
  return JSON.stringify(conditions);
}
