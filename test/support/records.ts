import { randomUUID } from 'node:crypto';
import { type GraphQLReply, graphql } from './client.ts';
import { member, platform } from './tokens.ts';

/** Payload inputs by kind, each the least that its kind needs. */
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

/** Runs an operation as the platform; a test that expects a fault uses {@link graphql} itself. */
export async function asPlatform(gateway: Gateway, query: string, variables: Record<string, unknown> = {}) {
  return dataOf(await graphql(gateway, query, variables, { token: await platform() }));
}

/** Runs an operation as a member with the full account; a test that expects a fault uses {@link graphql} itself. */
export async function asMember(
  gateway: Gateway,
  userId: string,
  query: string,
  variables: Record<string, unknown> = {},
) {
  return dataOf(await graphql(gateway, query, variables, { token: await member(userId) }));
}

function dataOf(reply: GraphQLReply) {
  if (reply.errors.length > 0) throw new Error(reply.text);
  return reply.data;
}

/** Publishes a notification through the front door and answers it; every task is a new one unless told. */
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

/** Resolves a task's active notifications, or with `before` those that occurred up to then. */
export async function resolve(
  gateway: Gateway,
  userId: string,
  taskId: string,
  reason = 'ANSWERED',
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

/** The version of a user's stored pair. */
export async function credentialVersion(gateway: Gateway, userId: string): Promise<string> {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { version } }';
  return (await asPlatform(gateway, query, { userId })).editorCredential.version;
}

/** A workspace input; running, with everything that is optional left out, unless told. */
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

/** Puts workspaces and answers the ids of those that were stored. */
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
