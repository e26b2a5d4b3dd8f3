import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asPlatform } from './support/records.ts';
import { member, platform, signToken } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const first = { accessToken: 'first-access', refreshToken: 'first-refresh' };
const second = { accessToken: 'second-access', refreshToken: 'second-refresh' };

const CREDENTIAL =
  'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken } }';
const REFRESH = `mutation ($input: RefreshEditorCredentialInput!) {
  refreshEditorCredential(input: $input) { version }
}`;

async function store(userId: string, pair = first) {
  const token = await member(userId);
  const reply = await rest(gateway, 'PUT', '/editor/auth/subscription', { token, body: pair });
  expect(reply.status).toBe(200);
}

async function remove(userId: string) {
  await rest(gateway, 'DELETE', '/editor/auth', { token: await member(userId) });
}

async function credential(userId: string) {
  return (await asPlatform(gateway, CREDENTIAL, { userId })).editorCredential;
}

async function report(userId: string, version: number, reason = 'TOKEN_EXPIRED') {
  const data = await asPlatform(
    gateway,
    `mutation ($input: ReportEditorAuthFailureInput!) {
      reportEditorAuthFailure(input: $input) { applied editorAuth { auth { type } needsReauth reauthReason } }
    }`,
    { input: { userId, version, reason } },
  );
  return data.reportEditorAuthFailure;
}

async function refresh(userId: string, version: number, pair = second): Promise<number> {
  const data = await asPlatform(gateway, REFRESH, { input: { userId, version, ...pair } });
  return data.refreshEditorCredential.version;
}

async function refusedRefresh(userId: string, version: number) {
  const input = { userId, version, ...second };
  const { data, errors } = await graphql(gateway, REFRESH, { input }, { token: await platform() });
  expect(data).toEqual({ refreshEditorCredential: null });
  expect(errors).toHaveLength(1);
  expect(errors[0].extensions).toMatchObject({
    code: 'CONFLICT',
    errors: [{ location: 'input.version', value: version }],
  });
}

const row = (userId: string) =>
  gateway.database.sql('select * from editor_credential where user_id = $1', [userId]);

test('a failure of the current version is noted, and the answer is the new state', async () => {
  await store('failed');
  expect(await report('failed', 1, 'REFRESH_FAILED')).toEqual({
    applied: true,
    editorAuth: { auth: { type: 'SUBSCRIPTION' }, needsReauth: true, reauthReason: 'REFRESH_FAILED' },
  });
  expect(await credential('failed')).toEqual({ version: 1, ...first });
});

test('a later report replaces the reason', async () => {
  await store('twice');
  await report('twice', 1, 'REFRESH_FAILED');
  expect(await report('twice', 1, 'TOKEN_REVOKED')).toMatchObject({
    applied: true,
    editorAuth: { reauthReason: 'TOKEN_REVOKED' },
  });
});

test.each<[what: string, version: number]>([
  ['an earlier version', 1],
  ['a version that is still to come', 3],
])('a failure of %s changes nothing, and the answer says so', async (what, version) => {
  await store(what);
  await store(what, second);
  const before = await row(what);

  expect(await report(what, version)).toEqual({
    applied: false,
    editorAuth: { auth: { type: 'SUBSCRIPTION' }, needsReauth: false, reauthReason: null },
  });
  expect(await row(what)).toEqual(before);
});

test('a failure where nothing is stored, or no longer, changes nothing', async () => {
  const nothing = {
    applied: false,
    editorAuth: { auth: { type: 'NONE' }, needsReauth: false, reauthReason: null },
  };
  expect(await report('never', 1)).toEqual(nothing);
  await store('gone');
  await remove('gone');
  expect(await report('gone', 1)).toEqual(nothing);
});

test('a refreshed pair takes the next version and clears needs_reauth', async () => {
  await store('refreshed');
  await report('refreshed', 1);

  expect(await refresh('refreshed', 1)).toBe(2);

  expect(await credential('refreshed')).toEqual({ version: 2, ...second });
  const { body } = await rest(gateway, 'GET', '/editor/auth', { token: await member('refreshed') });
  expect(body).toStrictEqual({ auth: { type: 'subscription' }, needs_reauth: false });
});

test('a refresh of a version that is no longer current is a conflict and changes nothing', async () => {
  await store('stale');
  await refresh('stale', 1);
  const before = await row('stale');
  await refusedRefresh('stale', 1);
  await refusedRefresh('stale', 3);
  expect(await row('stale')).toEqual(before);
});

test('a refresh never brings a deleted pair back', async () => {
  await store('deleted');
  await remove('deleted');
  await refusedRefresh('deleted', 1);
  await refusedRefresh('never-stored', 1);
  expect(await credential('deleted')).toBeNull();
});

test('of many refreshes of one version at once one is stored and the others are conflicts', async () => {
  await store('race');
  const token = await platform();
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, n) => {
      const input = { userId: 'race', version: 1, accessToken: `a-${n}`, refreshToken: `r-${n}` };
      return graphql(gateway, REFRESH, { input }, { token });
    }),
  );

  const winners = replies.flatMap(({ data }, n) => (data.refreshEditorCredential ? [n] : []));
  expect(winners).toHaveLength(1);
  expect(await credential('race')).toEqual({
    version: 2,
    accessToken: `a-${winners[0]}`,
    refreshToken: `r-${winners[0]}`,
  });
});

test('every read of a pair writes an audit line with who and for whom, and without the tokens', async () => {
  await store('audited');
  const reader = await signToken({ sub: 'the-reader', scope: 'platform:credentials' });
  const auditLines = () =>
    gateway
      .logLines()
      .filter((line) => line.includes('editor_credential.read') && line.includes('the-reader'));

  for (const userId of ['audited', 'not-stored', 'audited']) {
    const { errors } = await graphql(gateway, CREDENTIAL, { userId }, { token: reader });
    expect(errors).toEqual([]);
  }

  expect(auditLines().map((line) => JSON.parse(line))).toMatchObject(
    ['audited', 'not-stored', 'audited'].map((user) => ({ by: 'the-reader', user })),
  );
  expect(auditLines().join('\n')).not.toMatch(/first-access|first-refresh/);
});

test('changes of a pair are audited too', async () => {
  await store('changed');
  await refresh('changed', 1);
  await remove('changed');
  const audits = gateway
    .logLines()
    .map((line) => JSON.parse(line))
    .filter(({ audit, user }) => audit !== undefined && user === 'changed')
    .map(({ audit, by }) => ({ audit, by }));
  expect(audits).toEqual([
    { audit: 'editor_credential.stored', by: 'changed' },
    { audit: 'editor_credential.refreshed', by: 'platform-service' },
    { audit: 'editor_credential.deleted', by: 'changed' },
  ]);
});
