import { randomUUID } from 'node:crypto';
import { type GraphQLReply, graphql } from './client.ts';
import { member, platform } from './tokens.ts';

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

/** Runs an operation as the platform and throws if it fails; for expected errors use {@link graphql}. */
export async function asPlatform(gateway: Gateway, query: string, variables: Record<string, unknown> = {}) {
  return expectData(await graphql(gateway, query, variables, { token: await platform() }));
}

/**
 * Runs an operation as a member with the full account and throws if it fails; for expected errors use {@link
 * graphql}.
 */
export async function asMember(
  gateway: Gateway,
  userId: string,
  query: string,
  variables: Record<string, unknown> = {},
) {
  return expectData(await graphql(gateway, query, variables, { token: await member(userId) }));
}

function expectData(reply: GraphQLReply) {
  if (reply.errors.length > 0) throw new Error(reply.text);
  return reply.data;
}

/** Publishes a notification through the API and returns it. Each has a new task unless `input` contains one. */
export async function publish(
  gateway: Gateway,
  userId: string,
  kind: Kind = 'plan_requested',
  input: Record<string, unknown> = {},
): Promise<{ id: string; createdAt: string }> {
  const task = { id: randomUUID(), projectId: 'project-1' };
  const data = await asPlatform(
    gateway,
    `mutation ($input: PublishNotificationInput!) {
      publishNotification(input: $input) { notification { ... on UserNotification { id createdAt } } }
    }`,
    { input: { userId, task, title: 'A title', payload: payloads[kind], ...input } },
  );
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
  await asPlatform(
    gateway,
    'mutation ($input: ResolveNotificationsInput!) { resolveNotifications(input: $input) { notifications { __typename } } }',
    { input: { userId, taskId, reason, before } },
  );
}

/** Deletes a user's data, and returns whether there was any. */
export async function deleteUser(gateway: Gateway, userId: string): Promise<boolean> {
  const query = 'mutation ($userId: ID!) { deleteUser(input: { userId: $userId }) { deleted } }';
  return (await asPlatform(gateway, query, { userId })).deleteUser.deleted;
}

/** Returns the version of a user's stored credential. */
export async function credentialVersion(gateway: Gateway, userId: string): Promise<string> {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { version } }';
  return (await asPlatform(gateway, query, { userId })).editorCredential.version;
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
  workspaces: object[],
): Promise<string[]> {
  const data = await asPlatform(
    gateway,
    'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }',
    { input: { userId, workspaces } },
  );
  return data.putWorkspaces.workspaces.map(({ id }: { id: string }) => id);
}
