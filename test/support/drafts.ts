import { randomUUID } from 'node:crypto';
import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { createOutbox } from '../../src/delivery/outbox.ts';
import type { NotificationDependencies } from '../../src/notifications/change-notifications.ts';
import type { NotificationDraft } from '../../src/notifications/notification-draft.ts';
import { publishNotifications } from '../../src/notifications/publish-notifications.ts';
import { settingsFor } from './gateway.ts';

/* Publishing without a gateway, so that nothing but the called function changes a user's notifications. */

/** Dependencies of changes that are not announced. `settings` add channels. */
export const dependenciesOf = (
  database: Database,
  settings: Record<string, string> = {},
): NotificationDependencies => ({
  database,
  announce: () => undefined,
  outbox: createOutbox(readConfig({ ...settingsFor({ url: database.url }), ...settings }).delivery),
});

/** Returns the draft of a plan. Each has a new task unless `given` contains one. */
export const planDraft = (given: Partial<NotificationDraft> = {}): NotificationDraft => ({
  id: null,
  kind: 'plan_requested',
  payload: { toolId: 'tool', input: { summary: 'S', plan: 'P' } },
  taskId: randomUUID(),
  taskName: null,
  projectId: 'project',
  projectName: null,
  projectRepoUrl: null,
  workspaceId: null,
  title: 'A title',
  previewText: null,
  prUrl: null,
  occurredAt: null,
  supersedes: 'task_and_kind',
  expiresAt: null,
  expiresInSeconds: null,
  onExpiry: null,
  ...given,
});

/** Publishes plans to a user by one call, and returns their IDs. */
export async function publishPlans(
  dependencies: NotificationDependencies,
  userId: string,
  ...plans: Partial<NotificationDraft>[]
): Promise<string[]> {
  const requests = plans.map((given) => ({ userId, draft: planDraft(given), path: [] }));
  const publications = await publishNotifications(dependencies, requests);
  return publications.map(({ notification }) => notification.id);
}
