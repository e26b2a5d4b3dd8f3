import { readFileSync } from 'node:fs';
import { openDatabase } from '../../src/database/database.ts';
import { storeCredential } from '../../src/editor-auth/editor-auth.ts';
import { createCredentialCipher } from '../../src/encryption/bound-cipher.ts';
import type { PlanRequestedPayload } from '../../src/notifications/payload.ts';
import { updatePreferences as storePreferences } from '../../src/notifications/preferences/preferences.ts';
import { publishNotifications } from '../../src/notifications/publish-notifications.ts';
import { Secret } from '../../src/values/secret.ts';
import { toTime } from '../../src/values/time.ts';
import type { createNotification } from '../records.ts';
import { pool, settings } from './settings.ts';

/* Changes by the gateway's own functions, without its checks, live events and deliveries. */

const database = await openDatabase({
  url: settings.DATABASE_URL,
  poolSize: settings.DATABASE_POOL_SIZE,
  timeoutMs: 5000,
});
const outbox = { channels: new Set<never>(), emailDelayMs: 0, note: () => undefined };
const dependencies = { database, outbox, announce: () => undefined };

type Plan = { payload: { planRequested: PlanRequestedPayload } };

/** Publishes a plan and returns the fields that the bench selects. */
export async function publish(publication: ReturnType<typeof createNotification> & Plan) {
  const { task, payload, occurredAt, userId, ...input } = publication;
  const draft = {
    ...input,
    kind: 'plan_requested' as const,
    taskId: task.id,
    taskName: task.name,
    projectId: task.projectId,
    workspaceId: null,
    payload: payload.planRequested,
    occurredAt: toTime(new Date(occurredAt)),
    supersedes: 'task_and_kind' as const,
    expiresAt: null,
    expiresInSeconds: null,
    onExpiry: null,
  };
  const [published] = await publishNotifications(dependencies, [{ userId, draft, path: [] }]);
  if (published === undefined) throw new Error('A notification was not stored.');
  const { created, notification } = published;
  const { id, status, createdAt } = notification;
  return { created, notification: { id, status: status.toUpperCase(), createdAt } };
}

/** A copy of the gateway's statement (dismiss-notifications.ts). */
const DISMISS = readFileSync(new URL('./dismiss.sql', import.meta.url), 'utf8');

type Names = Record<'task_id' | 'task_name' | 'project_id' | 'workspace_id', string | null>;

/** Dismisses a plan and returns it in the format of the REST API. */
export async function dismiss(userId: string, id: string) {
  const statement = { name: 'dismiss', text: DISMISS, values: [userId, id, new Date()] };
  const { rows } = await pool.query<Names & { payload: PlanRequestedPayload }>(statement);
  if (rows[0] === undefined) throw new Error('A notification was not dismissed.');
  const { task_id, task_name, project_id, workspace_id, payload, ...row } = rows[0];
  const { toolId, input } = payload;
  return {
    ...row,
    task: { id: task_id, project_id, name: task_name, workspace_id },
    payload: { tool_id: toolId, summary: input.summary, plan: input.plan, input },
  };
}

type Channels = Record<'email_enabled' | 'push_enabled' | 'chat_dm_enabled', boolean>;

/** Updates the preferences of all kinds and returns them in the format of the REST API. */
export async function updatePreferences(userId: string, [change]: readonly [Channels]) {
  const changed = {
    emailEnabled: change.email_enabled,
    pushEnabled: change.push_enabled,
    chatDmEnabled: change.chat_dm_enabled,
  };
  const stored = await storePreferences(dependencies, userId, [changed], toTime(new Date()));
  return stored.map((row) => ({
    notification_kind: row.notificationKind,
    email_enabled: row.emailEnabled,
    push_enabled: row.pushEnabled,
    chat_dm_enabled: row.chatDmEnabled,
    user_id: row.userId,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  }));
}

const cipher = createCredentialCipher(settings.ENCRYPTION_KEYS);
type Pair = Record<'accessToken' | 'refreshToken', string>;

/** Encrypts and stores a token pair with the gateway's cipher. */
export async function storeSubscription(userId: string, { accessToken, refreshToken }: Pair) {
  const pair = {
    accessToken: new Secret(accessToken),
    refreshToken: new Secret(refreshToken),
    expiresAt: null,
  };
  await storeCredential(dependencies, cipher, userId, pair);
  return { auth: { type: 'subscription' }, needs_reauth: false };
}
