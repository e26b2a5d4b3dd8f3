import { expect, test } from 'vitest';
import { getOperationId } from '../../rest/route.ts';
import { routes } from '../../rest/router.ts';
import { notifications, workspaces } from '../../src/commands/seed-records.ts';
import { type RestReply, type RestRequest, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { credentialVersion, putWorkspaces } from '../support/records.ts';
import { member, platform, signToken } from '../support/tokens.ts';

const gateway = useGateway();
const limited = useGateway({ RATE_LIMIT_WRITES_PER_MINUTE: '1' }, gateway);
const broken = useGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: 'http://127.0.0.1:1/jwks' }, gateway);
const service = gateway.as(platform);
const token = await member('alice');
const started = Date.now();

const notificationsPath = '/user/notifications';
const workspacesPath = '/user/workspaces';
const preferencesPath = '/user/notification-preferences';
const subscriptionPath = '/editor/auth/subscription';

/** Creates the examples in order: later ones return what earlier ones stored. */
async function recordExamples(): Promise<Record<string, Record<string, unknown>>> {
  const examples: Record<string, Record<string, unknown>> = {};
  const add = (key: string, name: string, value: unknown) => {
    examples[key] = { ...examples[key], [name]: value };
  };
  const ask = (method: string, path: string, sent: RestRequest = {}) =>
    rest(gateway, method, path, { token, ...sent });
  const reply = async (field: string, name: string, asked: Promise<RestReply>, sent?: unknown) => {
    const { status, body } = await asked;
    expect(status, `${field}: ${name}`).toBe(200);
    if (sent !== undefined) add(`${field}.request`, name, sent);
    add(`${field}.reply`, name, body);
  };
  /** Records an error that every operation can return, or with `field` only one operation. */
  const error = async (name: string, asked: Promise<Pick<RestReply, 'text'>>, field?: string) => {
    const body = JSON.parse((await asked).text);
    add(field === undefined ? body.code : `${field}.${body.code}`, name, body);
  };

  await publishSeeds();
  await reply('notifications', 'One of each kind', ask('GET', notificationsPath));
  await reply('dismissNotification', 'Question', ask('POST', '/user/notifications/seed-11/dismiss'));

  await reply('notification', 'Question', ask('GET', '/user/notifications/seed-11'));
  const counts = ask('GET', '/user/notification-counts');
  await reply('notificationCounts', 'One of each kind, one dismissed', counts);
  const seen = { ids: ['seed-11', 'seed-12'] };
  const dismissal = ask('POST', '/user/notifications/dismiss', { body: seen });
  await reply('dismissNotifications', 'Two notifications, one dismissed before', dismissal, seen);
  await reply('restoreNotification', 'Question', ask('POST', '/user/notifications/seed-11/restore'));
  const { undo_token } = (await dismissal).body;
  const restoration = ask('POST', '/user/notifications/restore', { body: { undo_token } });
  await reply('restoreNotifications', 'All that were dismissed', restoration, { undo_token });
  await reply('requests', 'One that is open', ask('GET', '/user/requests?state=open&limit=1'));

  const answer = { answer_id: '8a3f5f5e-0000-4000-8000-000000000001', plan: { decision: 'approve' } };
  const answerPath = '/user/notifications/seed-12/answer';
  await reply('answerNotification', 'Approved plan', ask('POST', answerPath, { body: answer }), answer);
  const late = { ...answer, answer_id: '8a3f5f5e-0000-4000-8000-000000000002' };
  await error('Settled before', ask('POST', answerPath, { body: late }), 'answerNotification');

  await reply('notificationPreferences', 'Nothing stored', ask('GET', preferencesPath));
  const changes = {
    preferences: [
      { email_enabled: false, push_enabled: true, chat_dm_enabled: true },
      { notification_kind: 'task_failed', email_enabled: true, push_enabled: true, chat_dm_enabled: true },
    ],
  };
  const update = ask('PUT', preferencesPath, { body: changes });
  await reply('updateNotificationPreferences', 'Email for failed tasks only', update, changes);
  const patch = { preferences: [{ notification_kind: 'task_failed', chat_dm_enabled: false }] };
  const patched = ask('PATCH', preferencesPath, { body: patch });
  await reply('patchNotificationPreferences', 'No chat about failed tasks', patched, patch);
  await reply('notificationPreferences', 'Stored', ask('GET', preferencesPath));

  await reply('editorAuth', 'Nothing stored', ask('GET', '/editor/auth'));
  const pair = { accessToken: 'an-access-token', refreshToken: 'a-refresh-token' };
  const store = ask('PUT', subscriptionPath, { body: pair });
  await reply('storeEditorSubscription', 'Token pair', store, pair);
  await reply('editorAuth', 'Stored', ask('GET', '/editor/auth'));
  const version = await credentialVersion(gateway, 'alice');
  await service.reportEditorFailure({ userId: 'alice', version, reason: 'TOKEN_REVOKED' });
  await reply('editorAuth', 'Reauthentication required', ask('GET', '/editor/auth'));

  await putWorkspaces(gateway, 'alice', [...workspaces]);
  await reply('workspaces', 'All', ask('GET', workspacesPath));
  await reply('allWorkspaces', 'All', ask('GET', '/workspaces'));

  const twoHosts = rawRequest(`GET ${workspacesPath}`, ['Host: another.test']);
  await error('Malformed HTTP', sendRaw(gateway, twoHosts));
  for (const [field, path] of Object.entries({
    notifications: notificationsPath,
    requests: '/user/requests',
    workspaces: workspacesPath,
    allWorkspaces: '/workspaces',
  }))
    await error('Parameter out of range', ask('GET', `${path}?limit=0`), field);
  const headers = { 'Content-Type': 'application/json' };
  for (const [field, method, path, raw] of [
    ['updateNotificationPreferences', 'PUT', preferencesPath, '{"preferences": ['],
    ['dismissNotifications', 'POST', '/user/notifications/dismiss', '{"ids": ['],
    ['restoreNotifications', 'POST', '/user/notifications/restore', '{"ids": ['],
    ['answerNotification', 'POST', answerPath, '{"answer_id": '],
    ['patchNotificationPreferences', 'PATCH', preferencesPath, '{"preferences": ['],
    ['storeEditorSubscription', 'PUT', subscriptionPath, '{"accessToken": '],
  ] as const)
    await error('Body that is not JSON', ask(method, path, { raw, headers }), field);
  await error('No token', rest(gateway, 'GET', workspacesPath));
  const nothing = await signToken({ sub: 'alice', org_id: 'acme', scope: '' });
  for (const route of routes) {
    const { method, path } = route;
    const refused = ask(method.toUpperCase(), path, { token: nothing });
    await error('Token without the scope', refused, getOperationId(route));
  }
  const single = await signToken({ sub: 'alice' });
  await error('No organization', ask('GET', '/editor/auth', { token: single }));
  await error('Unknown ID', ask('POST', '/user/notifications/nobody/dismiss'));
  const preferences = [{ email_enabled: 'yes', push_enabled: true, sms_enabled: true }];
  const withSpace = { ...pair, accessToken: 'a b' };
  for (const [field, name, method, path, body] of [
    ['updateNotificationPreferences', 'Invalid preferences', 'PUT', preferencesPath, { preferences }],
    ['patchNotificationPreferences', 'No channel', 'PATCH', preferencesPath, { preferences: [{}] }],
    ['storeEditorSubscription', 'Token with a space', 'PUT', subscriptionPath, withSpace],
    ['dismissNotification', 'Empty ID', 'POST', '/user/notifications//dismiss', undefined],
    ['restoreNotification', 'Empty ID', 'POST', '/user/notifications//restore', undefined],
    ['notification', 'Empty ID', 'GET', '/user/notifications/', undefined],
    ['dismissNotifications', 'No IDs', 'POST', '/user/notifications/dismiss', { ids: [] }],
    ['restoreNotifications', 'Nothing', 'POST', '/user/notifications/restore', {}],
    ['answerNotification', 'No answer', 'POST', answerPath, { ...late, plan: undefined }],
  ] as const)
    await error(name, ask(method, path, { body }), field);
  const dismissAgain = () => rest(limited, 'POST', '/user/notifications/seed-11/dismiss', { token });
  await dismissAgain();
  await error('Too many requests', dismissAgain());
  await error('Key set unavailable', rest(broken, 'GET', workspacesPath, { token }));
  return examples;
}

/** Publishes the seed's active notifications, one of each kind. */
async function publishSeeds(): Promise<void> {
  for (const { id, task, title, project, payload, previewText, prUrl, outcome } of notifications) {
    if (outcome !== 'active') continue;
    const { projectId, projectName, projectRepoUrl } = project;
    const about = { task: { id: task, projectId, name: title }, projectName, projectRepoUrl };
    await service.publish({ userId: 'alice', id, title, payload, ...about, previewText, prUrl });
  }
}

/** Replaces what differs between runs: timestamps of today, and remaining seconds. */
function normalize(text: string): string {
  return text
    .replace(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (time) =>
      Date.parse(time) < started ? time : '2026-05-04T10:00:00.000Z',
    )
    .replace(/"undo_token": "[^"]+"/g, '"undo_token": "WzMsMTc3Nzg4ODgwMDAwMF0"')
    .replace(/again in \d+ s/, 'again in 60 s');
}

test('every example is a recorded reply (npx vitest run test/rest/openapi-examples.test.ts -u, npm run openapi)', async () => {
  const text = `${JSON.stringify(await recordExamples(), null, 2)}\n`;
  await expect(normalize(text)).toMatchFileSnapshot('../../src/openapi/examples.json');
});
