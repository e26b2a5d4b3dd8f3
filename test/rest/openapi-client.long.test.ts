import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import * as client from '../../examples/rest-client/rest-client.ts';
import { notificationKinds } from '../../src/notifications/notification.enums.ts';
import { useGateway } from '../support/gateway.ts';
import { credentialVersion, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member, platform, signToken } from '../support/tokens.ts';

const running = useGateway();
const limited = useGateway({ RATE_LIMIT_READS_PER_MINUTE: '2' }, running);
let alice: client.Gateway;
const [first, second] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];

beforeAll(async () => {
  alice = client.connect(running.address, await member('alice'));
  for (const kind of notificationKinds) await publish(running, 'alice', kind, { id: kind });
  const createdAt = '2026-05-04T08:00:00.000Z';
  const failed = { id: second, status: 'ERROR', errorMessage: 'No machine is free.', createdAt };
  await putWorkspaces(running, 'alice', [workspaceInput({ id: first }), workspaceInput(failed)]);
});

const as = async (claims: Record<string, unknown>) =>
  client.connect(running.address, await signToken({ sub: 'alice', ...claims }));

test('the generated types match the OpenAPI document (npm run openapi)', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  await promisify(execFile)('npm', ['run', 'types', '-w', 'rest-client', '--', '--check'], { cwd: root });
});

test('a generated client distinguishes every kind of notification, and sends filters and pages', async () => {
  const [response, failed, question, plan] = [
    'awaiting_input: Done',
    'failed: It broke',
    'question: Which?',
    'plan: In short',
  ];
  expect(await client.listNotifications(alice)).toEqual([response, failed, question, plan]);
  const filter = { status: ['active' as const], kind: ['task_failed' as const, 'plan_requested' as const] };
  expect(await client.listNotifications(alice, filter)).toEqual([failed, plan]);
  await expect(client.listNotifications(alice, { limit: 0 })).rejects.toThrow('query.limit must be');
  const sizes: number[] = [];
  for await (const page of client.readNotificationPages(alice, 3)) sizes.push(page.length);
  expect(sizes).toEqual([3, 1]);
});

test('an unchanged list is not sent again', async () => {
  const read = client.watchWorkspaces(alice);
  expect(await read()).toEqual([`${first} running on 2 shared`, `${second} error: No machine is free.`]);
  expect(await read()).toBe('unchanged');
});

test('dismissing returns the notification, 404 for an unknown ID and 422 for an invalid one', async () => {
  expect(await client.dismiss(alice, 'plan_requested')).toEqual({ value: 'dismissed' });
  expect(await client.dismiss(alice, 'nobody')).toEqual({ refusal: 'not_found: Not found.' });
  expect(await client.dismiss(alice, 'x'.repeat(256))).toEqual({
    refusal: 'path.id must be 1 to 255 characters without control characters',
  });
});

test('reads and writes preferences', async () => {
  expect(await client.listEmailKinds(alice)).toEqual({ value: notificationKinds });
  const changed = await client.enableEmailOnly(alice, ['task_failed']);
  expect(changed).toEqual({ value: Array(4).fill(expect.any(String)) });
  expect(await client.listEmailKinds(alice)).toEqual({ value: ['task_failed'] });
});

test("stores, reports and deletes the editor's credential", async () => {
  expect(await client.editorStatus(alice)).toEqual({ value: 'none' });
  const pair = { accessToken: 'access', refreshToken: 'refresh' };
  expect(await client.connectEditor(alice, pair)).toEqual({
    value: { auth: { type: 'subscription' }, needs_reauth: false },
  });
  expect(await client.connectEditor(alice, { ...pair, accessToken: '' })).toEqual({
    refusal: expect.stringMatching(/^body\.accessToken must be /),
  });
  const version = await credentialVersion(running, 'alice');
  await running.as(platform).reportEditorFailure({ userId: 'alice', version, reason: 'TOKEN_EXPIRED' });
  expect(await client.editorStatus(alice)).toEqual({ value: 'subscription, token_expired' });
  expect(await client.disconnectEditor(alice)).toEqual({ value: 204 });
  expect(await client.editorStatus(alice)).toEqual({ value: 'none' });
});

test('distinguishes a missing token, a missing scope and a missing membership', async () => {
  const nobody = client.connect(running.address);
  expect(await client.dismiss(nobody, 'task_failed')).toEqual({ refusal: 'sign in again' });
  expect(await client.editorStatus(await as({ org_id: null }))).toEqual({ refusal: 'join an organization' });
  const reader = await as({ org_id: 'acme', scope: 'account:read' });
  const forbidden = { refusal: expect.stringMatching(/^forbidden: .*account:write/) };
  expect(await client.disconnectEditor(reader)).toEqual(forbidden);
  expect(await client.enableEmailOnly(reader, [])).toEqual(forbidden);
});

test('an exceeded rate limit returns how long to wait', async () => {
  const limitedClient = client.connect(limited.address, await member('limited'));
  const seconds = await client.measureRetryAfter(limitedClient);
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
});
