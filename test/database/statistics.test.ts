import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  asPlatform,
  credentialVersion,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { updateStatistics } from '../support/statistics.ts';
import { member } from '../support/tokens.ts';

/* Statistics cover all users, so each test has its own database. */

let empty: TestGateway;
let filled: TestGateway;
beforeAll(async () => {
  empty = await startTestGateway();
  filled = await startTestGateway();
});
afterAll(async () => {
  await empty.close();
  await filled.close();
});

const all = `{ platform { statistics {
  notifications { kind status count } workspaces { status count } editorCredentials { state count }
} } }`;

const storePair = async (gateway: TestGateway, userId: string) =>
  rest(gateway, 'PUT', '/editor/auth/subscription', {
    token: await member(userId),
    body: { accessToken: 'a', refreshToken: 'r' },
  });

test('without records, returns zero for every credential state and empty lists otherwise', async () => {
  await updateStatistics(empty.database);
  const { statistics } = (await asPlatform(empty, all)).platform;
  expect(statistics).toEqual({
    notifications: [],
    workspaces: [],
    editorCredentials: ['CONNECTED', 'NEEDS_REAUTH', 'UNREADABLE'].map((state) => ({ state, count: 0 })),
  });
});

test('counts notifications by kind and status, workspaces by status and credentials by state, over all users', async () => {
  const task = { id: 't', projectId: 'p' };
  await publish(filled, 'a', 'plan_requested');
  await publish(filled, 'b', 'plan_requested');
  await publish(filled, 'b', 'question_requested', { task });
  await resolve(filled, 'b', 't');
  const { id } = await publish(filled, 'a', 'task_failed');
  await rest(filled, 'POST', `/user/notifications/${id}/dismiss`, { token: await member('a') });

  await putWorkspaces(filled, 'a', [workspaceInput(), workspaceInput({ status: 'ERROR' })]);
  await putWorkspaces(filled, 'b', [workspaceInput()]);

  for (const user of ['a', 'b', 'c', 'd']) await storePair(filled, user);
  await rest(filled, 'DELETE', '/editor/auth', { token: await member('d') });
  await asPlatform(
    filled,
    `mutation ($version: ID!) {
      reportEditorAuthFailure(input: { userId: "c", version: $version, reason: TOKEN_EXPIRED }) { applied }
    }`,
    { version: await credentialVersion(filled, 'c') },
  );

  await updateStatistics(filled.database);
  const { statistics } = (await asPlatform(filled, all)).platform;
  expect(statistics).toEqual({
    notifications: [
      { kind: 'PLAN_REQUESTED', status: 'ACTIVE', count: 2 },
      { kind: 'QUESTION_REQUESTED', status: 'RESOLVED', count: 1 },
      { kind: 'TASK_FAILED', status: 'DISMISSED', count: 1 },
    ],
    workspaces: [
      { status: 'ERROR', count: 1 },
      { status: 'RUNNING', count: 2 },
    ],
    editorCredentials: [
      { state: 'CONNECTED', count: 2 },
      { state: 'NEEDS_REAUTH', count: 1 },
      { state: 'UNREADABLE', count: 0 },
    ],
  });

  const keys = `other:${randomBytes(32).toString('base64')}`;
  const other = await startTestGateway({ ENCRYPTION_KEYS: keys }, filled.database);
  await storePair(other, 'e');
  await updateStatistics(filled.database);
  const { editorCredentials } = (await asPlatform(other, all)).platform.statistics;
  await other.close();
  expect(editorCredentials).toEqual([
    { state: 'CONNECTED', count: 1 },
    { state: 'NEEDS_REAUTH', count: 0 },
    { state: 'UNREADABLE', count: 3 },
  ]);
});
