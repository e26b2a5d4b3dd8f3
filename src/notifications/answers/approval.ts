import type { Notification } from '../notification.entity.ts';

/** The start of the tool IDs of permission requests: those by which a hook of a coding agent asks about a tool call. */
export const PERMISSION_PREFIX = 'permission.';

/**
 * Whether a request asks the user to approve what its task will do: a plan, or a permission request. Tool IDs of the
 * platform mean nothing.
 */
export const asksApproval = ({
  kind,
  byTask,
  toolId,
}: Pick<Notification, 'kind' | 'byTask' | 'toolId'>): boolean =>
  kind === 'plan_requested' || (byTask && toolId?.startsWith(PERMISSION_PREFIX) === true);
