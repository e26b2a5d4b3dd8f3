import { randomUUID } from 'node:crypto';
import { createAs, type Given } from './as.ts';
import type { TestDatabase } from './database.ts';
import type { PublishNotificationInput } from './generated/types.ts';
import { platform } from './tokens.ts';

/** Minimal payload inputs by kind. */
export const payloads = {
  plan_requested: { planRequested: { toolId: 'tool-1', input: { summary: 'In short', plan: '1. Do it' } } },
  question_requested: {
    questionRequested: {
      toolId: 'tool-2',
      input: { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] },
    },
  },
  task_failed: { taskFailed: { taskStatus: 'ERRORED', message: 'It broke' } },
  task_response_ready: { taskResponseReady: { taskStatus: 'AWAITING_INPUT', message: 'Done' } },
} as const;

export type Kind = keyof typeof payloads;

type Gateway = { address: string };

/** The input of a notification: of a new task, with a minimal payload of the kind, unless `given` overrides it. */
export function notification(
  userId: string,
  kind: Kind = 'plan_requested',
  given: Given<PublishNotificationInput> = {},
): Given<PublishNotificationInput> {
  const task = { id: randomUUID(), projectId: 'project-1' };
  return { userId, task, title: 'A title', payload: payloads[kind], ...given };
}

/** Publishes a {@link notification}, and selects no more of it than most tests need. */
export async function publish(
  gateway: Gateway,
  ...draft: Parameters<typeof notification>
): Promise<{ id: string; createdAt: string }> {
  const query = `mutation ($input: PublishNotificationInput!) {
    publishNotification(input: $input) { notification { ... on UserNotification { id createdAt } } } }`;
  const data = await createAs(gateway)(platform).run(query, { input: notification(...draft) });
  return data.publishNotification.notification;
}

/** Resolves a task's active notifications, or with `before` those that occurred until then. */
export async function resolve(
  gateway: Gateway,
  userId: string,
  taskId: string,
  reason = 'ANSWERED_ELSEWHERE',
  before?: string,
) {
  await createAs(gateway)(platform).resolve({ userId, taskId, reason, before });
}

/** Returns the status of each of a user's stored notifications by ID. */
export async function readStatuses({ database }: { database: TestDatabase }, userId: string) {
  const rows = await database.sql('select id, status from notification where user_id = $1', [userId]);
  return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
}

/** Deletes a user's data, and returns whether there was any. */
export const deleteUser = (gateway: Gateway, userId: string) =>
  createAs(gateway)(platform).deleteUser({ userId });

/** Returns the version of a user's stored credential. */
export async function credentialVersion(gateway: Gateway, userId: string): Promise<string> {
  return (await createAs(gateway)(platform).editorCredential({ userId })).version;
}

/** A workspace input: running, without optional fields, unless `input` overrides it. */
export function workspaceInput(input: Record<string, unknown> = {}) {
  const now = new Date().toISOString();
  return {
    id: randomUUID(),
    projectId: 'project-1',
    status: 'RUNNING',
    hardware: { cpuKind: 'shared', cpus: 2, memoryMb: 4096, volumeSizeGb: 20 },
    keepActive: false,
    createdAt: now,
    updatedAt: now,
    ...input,
  };
}

/** Puts workspaces and returns the IDs of those that were stored. */
export async function putWorkspaces(
  gateway: Gateway,
  userId: string,
  workspaces: readonly object[],
): Promise<string[]> {
  const stored = await createAs(gateway)(platform).putWorkspaces({ userId, workspaces });
  return stored.map(({ id }) => id);
}
