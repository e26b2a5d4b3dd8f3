import { randomUUIDv7 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { storePair } from '../../src/editor-auth/credential-statements.ts';
import { createCredentialCipher } from '../../src/encryption/bound-cipher.ts';
import { insertPublication } from '../../src/notifications/insert-publication.ts';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import type { PlanRequestedPayload } from '../../src/notifications/payload.ts';
import {
  findPreferencesInChange,
  storePreferences,
} from '../../src/notifications/preferences/preference-statements.ts';
import { readPublications } from '../../src/notifications/publish-notifications.ts';
import { Secret } from '../../src/values/secret.ts';
import { toTime } from '../../src/values/time.ts';
import type { createNotification } from '../records.ts';
import { pool, settings } from './settings.ts';
import { database, inTransaction } from './transaction.ts';

/* Changes by the gateway's own statements, without its checks, live events and deliveries. */

type Plan = { payload: { planRequested: PlanRequestedPayload } };

/** Publishes a plan and returns the fields that the bench selects. */
export async function publish(publication: ReturnType<typeof createNotification> & Plan) {
  const { task, payload, occurredAt, userId, id, ...input } = publication;
  const draft = {
    ...input,
    userId,
    id,
    kind: 'plan_requested' as const,
    taskId: task.id,
    taskName: task.name,
    projectId: task.projectId,
    workspaceId: null,
    payload: JSON.stringify(payload.planRequested),
    occurredAt: toTime(new Date(occurredAt)),
    slot: '',
    everySlot: true,
    isRequest: true,
    expiresAt: null,
    expiresInSeconds: null,
    onExpiry: null,
    providers: [],
    now: toTime(new Date()),
  };
  const [inserted, [row]] = await inTransaction([userId], (send) =>
    Promise.all([
      send(insertPublication(database, draft)),
      send(readPublications(database, { users: [userId], ids: [id] })),
    ]),
  );
  if (row === undefined) throw new Error('A notification was not stored.');
  const notification = { id, status: row.status.toUpperCase(), createdAt: row.createdAt };
  return { created: inserted.length === 1, notification };
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
  const repeat = (isOn: boolean) => notificationKinds.map(() => isOn);
  const values = {
    userId,
    kinds: notificationKinds,
    email: repeat(change.email_enabled),
    push: repeat(change.push_enabled),
    chatDm: repeat(change.chat_dm_enabled),
    now: toTime(new Date()),
  };
  const [, stored] = await inTransaction([userId], (send) =>
    Promise.all([
      send(storePreferences(database, values)),
      send(findPreferencesInChange(database, { userId })),
    ]),
  );
  const rows = new Map(stored.map((row) => [row.notificationKind, row]));
  return notificationKinds.map((kind) => {
    const row = rows.get(kind);
    return {
      notification_kind: kind,
      email_enabled: row?.emailEnabled,
      push_enabled: row?.pushEnabled,
      chat_dm_enabled: row?.chatDmEnabled,
      user_id: row?.userId,
      created_at: row?.createdAt,
      updated_at: row?.updatedAt,
    };
  });
}

const cipher = createCredentialCipher(settings.ENCRYPTION_KEYS);
type Pair = Record<'accessToken' | 'refreshToken', string>;

/** Encrypts and stores a token pair with the gateway's cipher. */
export async function storeSubscription(userId: string, { accessToken, refreshToken }: Pair) {
  const owner = { userId, version: randomUUIDv7() };
  const pair = { accessToken: new Secret(accessToken), refreshToken: new Secret(refreshToken) };
  const ciphertext = await cipher.encrypt(pair, owner);
  const state = { keyId: cipher.currentKeyId, expiresAt: null, now: toTime(new Date()) };
  await inTransaction([userId], (send) => send(storePair(database, { ...owner, ...state, ciphertext })));
  return { auth: { type: 'subscription' }, needs_reauth: false };
}
