import { expect } from 'vitest';
import { deleteUser, payloads, workspaceInput } from './records.ts';
import type { Published, Storm } from './storm.ts';
import { type Step, type StepOf, timeAt } from './storm-steps.ts';

/** Takes a step over one of the gateways, and notes what came of it. */
export async function take(storm: Storm, step: Step, index: number): Promise<void> {
  const userId = storm.users[step.user] ?? '';
  switch (step.what) {
    case 'publish':
      return publish(storm, step, index, userId);
    case 'publishAgain':
      return publishAgain(storm, step, index, userId);
    case 'resolve':
      return resolve(storm, step, index, userId);
    case 'dismiss':
      return dismiss(storm, step, index, userId);
    case 'preferences':
      return choose(storm, step, index, userId);
    case 'store':
      return storm.rest(index, 'PUT', '/editor/auth/subscription', userId, pairOf(index));
    case 'refresh':
      return refresh(storm, index, userId);
    case 'report':
      return report(storm, index, userId);
    case 'wipe':
      return storm.rest(index, 'DELETE', '/editor/auth', userId);
    case 'putWorkspaces':
      return putWorkspaces(storm, step, index, userId);
    case 'deleteWorkspace':
      return deleteWorkspace(storm, step, index, userId);
    case 'deleteUser':
      await deleteUser(storm.at(index), userId);
  }
}

const PUBLISH = `mutation ($input: PublishNotificationsInput!) {
  publishNotifications(input: $input) { results { created notification { ... on UserNotification { id } } } }
}`;
const PUBLISH_ONE = `mutation ($input: PublishNotificationInput!) {
  publishNotification(input: $input) { created notification { ... on UserNotification { id } } }
}`;

/** A batch brings something for another user too, in any order. */
async function publish(storm: Storm, step: StepOf<'publish'>, index: number, userId: string): Promise<void> {
  const time = timeAt(step.hour, index);
  const otherId = storm.users[(step.user + 1 + (index % 2)) % 3] ?? '';
  const sent = [{ userId, made: { id: `n-${index}`, task: step.task, kind: step.kind, time } }];
  if (step.isBatch) {
    sent.push({ userId: otherId, made: { id: `o-${index}`, task: step.task, kind: step.kind, time } });
  }
  for (const { userId, made } of sent) storm.account(userId).published.push(made);
  const notifications = sent.map(({ userId, made }) => draftOf(userId, made));
  const results = step.isBatch
    ? (await storm.send(index, PUBLISH, { input: { notifications } })).publishNotifications.results
    : [(await storm.send(index, PUBLISH_ONE, { input: notifications[0] })).publishNotification];
  for (const [position, { created, notification }] of results.entries()) {
    if (created) storm.account(sent[position]?.userId ?? '').created.push(notification.id);
  }
}

async function publishAgain(
  storm: Storm,
  { which }: StepOf<'publishAgain'>,
  index: number,
  userId: string,
): Promise<void> {
  const { published, created } = storm.account(userId);
  const known = published[which];
  if (known === undefined) return;
  const data = await storm.send(index, PUBLISH_ONE, { input: draftOf(userId, known) });
  if (data.publishNotification.created) created.push(known.id);
}

async function resolve(storm: Storm, step: StepOf<'resolve'>, index: number, userId: string): Promise<void> {
  const { resolutions, resolved } = storm.account(userId);
  const before = step.before === undefined ? undefined : timeAt(step.before, index);
  resolutions.push({ task: step.task, before });
  const query = `mutation ($input: ResolveNotificationsInput!) {
    resolveNotifications(input: $input) { notifications { ... on UserNotification { id } } }
  }`;
  const input = { userId, taskId: step.task, reason: 'ANSWERED', before };
  resolved.push(...idsOf((await storm.send(index, query, { input })).resolveNotifications));
}

async function dismiss(storm: Storm, step: StepOf<'dismiss'>, index: number, userId: string): Promise<void> {
  const { published, dismissed } = storm.account(userId);
  const ids = step.which.map((number) => published[number]?.id ?? 'unknown');
  const query = `mutation ($ids: [ID!]!) {
    dismissNotifications(input: { ids: $ids }) { notifications { ... on UserNotification { id } } }
  }`;
  dismissed.push(...idsOf((await storm.send(index, query, { ids }, userId)).dismissNotifications));
}

async function choose(
  storm: Storm,
  step: StepOf<'preferences'>,
  index: number,
  userId: string,
): Promise<void> {
  const { email, push, chat } = step.flags;
  const item = { email_enabled: email, push_enabled: push, chat_dm_enabled: chat };
  const preferences = [{ ...item, ...(step.kind && { notification_kind: step.kind }) }];
  const path = '/user/notification-preferences';
  storm
    .account(userId)
    .preferences.push((await storm.rest(index, 'PUT', path, userId, { preferences })).preferences);
}

async function currentVersion(storm: Storm, index: number, userId: string): Promise<string | undefined> {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { version } }';
  return (await storm.send(index, query, { userId })).editorCredential?.version;
}

async function refresh(storm: Storm, index: number, userId: string): Promise<void> {
  const { versions, refreshedFrom } = storm.account(userId);
  const version = await currentVersion(storm, index, userId);
  if (version === undefined) return;
  const { data, codes } = await storm.asPlatform(
    index,
    'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }',
    { input: { userId, version, ...pairOf(index) } },
  );
  if (codes.length > 0) return expect(codes).toEqual(['CONFLICT']);
  refreshedFrom.push(version);
  versions.push(data.refreshEditorCredential.version);
}

async function report(storm: Storm, index: number, userId: string): Promise<void> {
  const version = await currentVersion(storm, index, userId);
  if (version === undefined) return;
  await storm.send(
    index,
    'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }',
    { input: { userId, version, reason: 'TOKEN_REVOKED' } },
  );
}

const workspaceIds = [1, 2].map((number) => `5f0c2f0e-0000-4000-8000-00000000000${number}`);

async function putWorkspaces(
  storm: Storm,
  { hours }: StepOf<'putWorkspaces'>,
  index: number,
  userId: string,
): Promise<void> {
  const puts = workspaceIds.map((id, at) => ({ id, time: timeAt(hours[at] ?? 0, index) }));
  storm.account(userId).puts.push(...puts);
  const workspaces = puts.map(({ id, time }) => workspaceInput({ id, updatedAt: time, gitRef: time }));
  await storm.send(
    index,
    'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }',
    { input: { userId, workspaces: index % 2 === 0 ? workspaces : workspaces.toReversed() } },
  );
}

async function deleteWorkspace(
  storm: Storm,
  step: StepOf<'deleteWorkspace'>,
  index: number,
  userId: string,
): Promise<void> {
  const deletion = { id: workspaceIds[step.which] ?? '', time: timeAt(step.hour, index) };
  storm.account(userId).deletions.push(deletion);
  await storm.send(
    index,
    'mutation ($input: DeleteWorkspaceInput!) { deleteWorkspace(input: $input) { deleted } }',
    { input: { userId, id: deletion.id, deletedAt: deletion.time } },
  );
}

const idsOf = ({ notifications }: { notifications: { id: string }[] }) => notifications.map(({ id }) => id);

const pairOf = (index: number) => ({ accessToken: `access-${index}`, refreshToken: `refresh-${index}` });

function draftOf(userId: string, { id, task, kind, time }: Published) {
  const payload = kind === 'task_failed' ? payloads.task_failed : payloads.plan_requested;
  return { userId, id, task: { id: task, projectId: 'p' }, title: id, payload, occurredAt: time };
}
