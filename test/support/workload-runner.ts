import { expect } from 'vitest';
import { deleteUser, payloads, workspaceInput } from './records.ts';
import type { Published, Workload } from './workload.ts';
import { type Operation, type OperationOf, timeAt } from './workload-operations.ts';

/** Runs an operation at one of the gateways and records its result. */
export async function runOperation(workload: Workload, operation: Operation, index: number): Promise<void> {
  const userId = workload.users[operation.user] ?? '';
  switch (operation.what) {
    case 'publish':
      return publish(workload, operation, index, userId);
    case 'publishAgain':
      return publishAgain(workload, operation, index, userId);
    case 'resolve':
      return resolve(workload, operation, index, userId);
    case 'dismiss':
      return dismiss(workload, operation, index, userId);
    case 'updatePreferences':
      return updatePreferences(workload, operation, index, userId);
    case 'store':
      return workload.rest(index, 'PUT', '/editor/auth/subscription', userId, tokenPair(index));
    case 'refresh':
      return refresh(workload, index, userId);
    case 'report':
      return report(workload, index, userId);
    case 'deleteCredential':
      return workload.rest(index, 'DELETE', '/editor/auth', userId);
    case 'putWorkspaces':
      return putWorkspaces(workload, operation, index, userId);
    case 'deleteWorkspace':
      return deleteWorkspace(workload, operation, index, userId);
    case 'deleteUser':
      await deleteUser(workload.at(index), userId);
  }
}

const PUBLISH = `mutation ($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) { results { created notification { ... on UserNotification { id } } } }
}`;
const PUBLISH_ONE = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created notification { ... on UserNotification { id } } }
}`;

/** A batch also contains a notification of another user, whose ID sorts before or after. */
async function publish(
  workload: Workload,
  operation: OperationOf<'publish'>,
  index: number,
  userId: string,
): Promise<void> {
  const time = timeAt(operation.hour, index);
  const otherId = workload.users[(operation.user + 1 + (index % 2)) % 3] ?? '';
  const sent = [{ userId, made: { id: `n-${index}`, task: operation.task, kind: operation.kind, time } }];
  if (operation.isBatch) {
    sent.push({
      userId: otherId,
      made: { id: `o-${index}`, task: operation.task, kind: operation.kind, time },
    });
  }
  for (const { userId, made } of sent) workload.account(userId).published.push(made);
  const notifications = sent.map(({ userId, made }) => publishInput(userId, made));
  const results = operation.isBatch
    ? (await workload.send(index, PUBLISH, { input: { notifications } })).publishNotifications.results
    : [(await workload.send(index, PUBLISH_ONE, { input: notifications[0] })).publishNotification];
  for (const [position, { created, notification }] of results.entries()) {
    if (created) workload.account(sent[position]?.userId ?? '').created.push(notification.id);
  }
}

async function publishAgain(
  workload: Workload,
  { which }: OperationOf<'publishAgain'>,
  index: number,
  userId: string,
): Promise<void> {
  const { published, created } = workload.account(userId);
  const known = published[which];
  if (known === undefined) return;
  const data = await workload.send(index, PUBLISH_ONE, { input: publishInput(userId, known) });
  if (data.publishNotification.created) created.push(known.id);
}

async function resolve(
  workload: Workload,
  operation: OperationOf<'resolve'>,
  index: number,
  userId: string,
): Promise<void> {
  const { resolutions, resolved } = workload.account(userId);
  const before = operation.before === undefined ? undefined : timeAt(operation.before, index);
  resolutions.push({ task: operation.task, before });
  const query = `mutation ($input: ResolveNotificationsInput!) {
    resolveNotifications(input: $input) { notifications { ... on UserNotification { id } } }
  }`;
  const input = { userId, taskId: operation.task, reason: 'RESUMED', before };
  resolved.push(...toIds((await workload.send(index, query, { input })).resolveNotifications));
}

async function dismiss(
  workload: Workload,
  operation: OperationOf<'dismiss'>,
  index: number,
  userId: string,
): Promise<void> {
  const { published, dismissed } = workload.account(userId);
  const ids = operation.which.map((number) => published[number]?.id ?? 'unknown');
  const query = `mutation ($ids: [ID!]!) {
    dismissNotifications(input: { ids: $ids }) { notifications { ... on UserNotification { id } } }
  }`;
  dismissed.push(...toIds((await workload.send(index, query, { ids }, userId)).dismissNotifications));
}

async function updatePreferences(
  workload: Workload,
  operation: OperationOf<'updatePreferences'>,
  index: number,
  userId: string,
): Promise<void> {
  const { email, push, chat } = operation.flags;
  const item = { email_enabled: email, push_enabled: push, chat_dm_enabled: chat };
  const preferences = [{ ...item, ...(operation.kind && { notification_kind: operation.kind }) }];
  const path = '/user/notification-preferences';
  workload
    .account(userId)
    .preferences.push((await workload.rest(index, 'PUT', path, userId, { preferences })).preferences);
}

async function currentVersion(
  workload: Workload,
  index: number,
  userId: string,
): Promise<string | undefined> {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { version } }';
  return (await workload.send(index, query, { userId })).editorCredential?.version;
}

async function refresh(workload: Workload, index: number, userId: string): Promise<void> {
  const { versions, refreshedFrom } = workload.account(userId);
  const version = await currentVersion(workload, index, userId);
  if (version === undefined) return;
  const { data, codes } = await workload.asPlatform(
    index,
    'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }',
    { input: { userId, version, ...tokenPair(index) } },
  );
  if (codes.length > 0) return expect(codes).toEqual(['CONFLICT']);
  refreshedFrom.push(version);
  versions.push(data.refreshEditorCredential.version);
}

async function report(workload: Workload, index: number, userId: string): Promise<void> {
  const version = await currentVersion(workload, index, userId);
  if (version === undefined) return;
  await workload.send(
    index,
    'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }',
    { input: { userId, version, reason: 'TOKEN_REVOKED' } },
  );
}

const workspaceIds = [1, 2].map((number) => `5f0c2f0e-0000-4000-8000-00000000000${number}`);

async function putWorkspaces(
  workload: Workload,
  { hours }: OperationOf<'putWorkspaces'>,
  index: number,
  userId: string,
): Promise<void> {
  const puts = workspaceIds.map((id, at) => ({ id, time: timeAt(hours[at] ?? 0, index) }));
  workload.account(userId).puts.push(...puts);
  const workspaces = puts.map(({ id, time }) => workspaceInput({ id, updatedAt: time, gitRef: time }));
  await workload.send(
    index,
    'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }',
    { input: { userId, workspaces: index % 2 === 0 ? workspaces : workspaces.toReversed() } },
  );
}

async function deleteWorkspace(
  workload: Workload,
  operation: OperationOf<'deleteWorkspace'>,
  index: number,
  userId: string,
): Promise<void> {
  const deletion = { id: workspaceIds[operation.which] ?? '', time: timeAt(operation.hour, index) };
  workload.account(userId).deletions.push(deletion);
  await workload.send(
    index,
    'mutation ($input: DeleteWorkspaceInput!) { deleteWorkspace(input: $input) { deleted } }',
    { input: { userId, id: deletion.id, deletedAt: deletion.time } },
  );
}

const toIds = ({ notifications }: { notifications: { id: string }[] }) => notifications.map(({ id }) => id);

const tokenPair = (index: number) => ({ accessToken: `access-${index}`, refreshToken: `refresh-${index}` });

function publishInput(userId: string, { id, task, kind, time }: Published) {
  const payload = kind === 'task_failed' ? payloads.task_failed : payloads.plan_requested;
  return { userId, id, task: { id: task, projectId: 'p' }, title: id, payload, occurredAt: time };
}
