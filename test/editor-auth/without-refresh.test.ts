import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, asPlatform, credentialVersion } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

/* Pairs without a refresh token, and the expiry of access tokens. */

const gateway = useGateway();

const STORE =
  'mutation ($input: StoreEditorSubscriptionInput!) { storeEditorSubscription(input: $input) { editorAuth { auth { type } } } }';
const REFRESH =
  'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }';
const CLAIM =
  'mutation ($input: ClaimEditorCredentialRefreshInput!) { claimEditorCredentialRefresh(input: $input) { granted } }';
const READ =
  'query ($userId: ID!) { editorCredential(userId: $userId) { accessToken refreshToken expiresAt } }';

const put = async (userId: string, body: object) =>
  rest(gateway, 'PUT', '/editor/auth/subscription', { token: await member(userId), body });
const store = (userId: string, input: object) => asMember(gateway, userId, STORE, { input });
const read = async (userId: string) => (await asPlatform(gateway, READ, { userId })).editorCredential;

async function claim(userId: string, version: string) {
  const input = { userId, version, claimId: randomUUID() };
  return graphql(gateway, CLAIM, { input }, { token: await platform() });
}

const readRow = async (userId: string) =>
  (
    await gateway.database.sql('select claim_id, expires_at from editor_credential where user_id = $1', [
      userId,
    ])
  )[0];

test('over REST, an empty refreshToken stores a pair without one', async () => {
  const { status, body } = await put('empty', { accessToken: 'setup', refreshToken: '' });

  expect([status, body]).toEqual([200, { auth: { type: 'subscription' }, needs_reauth: false }]);
  expect(await read('empty')).toEqual({ accessToken: 'setup', refreshToken: null, expiresAt: null });
});

test.each<[what: string, body: object, message: string]>([
  ['no refreshToken', { accessToken: 'a' }, 'body.refreshToken is required'],
  ['a null refreshToken', { accessToken: 'a', refreshToken: null }, 'body.refreshToken must be a string'],
  ['an empty accessToken', { accessToken: '', refreshToken: '' }, 'body.accessToken must be 1 to 16384'],
  [
    'a space as refreshToken',
    { accessToken: 'a', refreshToken: ' ' },
    'body.refreshToken must be 1 to 16384',
  ],
  ['expiresAt', { accessToken: 'a', refreshToken: 'b', expiresAt: null }, 'a part of body is not a known'],
])('over REST, %s is rejected', async (_what, sent, message) => {
  const { status, body } = await put('invalid', sent);
  expect([status, body.error]).toEqual([422, expect.stringContaining(message)]);
});

test.each<[what: string, input: object]>([
  ['null', { accessToken: 'setup', refreshToken: null }],
  ['omitted', { accessToken: 'setup' }],
])('over GraphQL, a refreshToken that is %s stores a pair without one', async (what, input) => {
  await store(what, input);
  expect(await read(what)).toEqual({ accessToken: 'setup', refreshToken: null, expiresAt: null });
});

test('over GraphQL, an empty refreshToken is rejected', async () => {
  const input = { accessToken: 'a', refreshToken: '' };
  const { errors } = await graphql(gateway, STORE, { input }, { token: await member('empty') });
  expect(errors[0].extensions.errors).toMatchObject([
    { location: 'input.refreshToken', value: '[redacted]' },
  ]);
});

test('a pair without a refresh token cannot be claimed, and can be replaced', async () => {
  await put('setup', { accessToken: 'setup', refreshToken: '' });
  const version = await credentialVersion(gateway, 'setup');

  const { data, errors } = await claim('setup', version);

  expect(data).toEqual({ claimEditorCredentialRefresh: null });
  expect(errors[0].extensions).toMatchObject({
    code: 'CONFLICT',
    reason: 'NOT_REFRESHABLE',
    errors: [{ location: 'input.version', value: version }],
  });
  expect(await readRow('setup')).toMatchObject({ claim_id: null });
  const refreshed = { userId: 'setup', version, accessToken: 'next', refreshToken: 'refresh' };
  const next = (await asPlatform(gateway, REFRESH, { input: refreshed })).refreshEditorCredential.version;
  expect((await claim('setup', next)).data.claimEditorCredentialRefresh).toEqual({ granted: true });
});

test('a refresh can store a pair without a refresh token, and its retry returns the same version', async () => {
  await put('last', { accessToken: 'a', refreshToken: 'r' });
  const version = await credentialVersion(gateway, 'last');
  const input = { userId: 'last', version, accessToken: 'final', refreshToken: null };

  const first = (await asPlatform(gateway, REFRESH, { input })).refreshEditorCredential.version;

  expect(await read('last')).toEqual({ accessToken: 'final', refreshToken: null, expiresAt: null });
  expect((await asPlatform(gateway, REFRESH, { input })).refreshEditorCredential.version).toBe(first);
  const other = { ...input, refreshToken: 'other' };
  const { errors } = await graphql(gateway, REFRESH, { input: other }, { token: await platform() });
  expect(errors[0].extensions.code).toBe('CONFLICT');
});

test('a stale version is reported before a missing refresh token', async () => {
  await put('both', { accessToken: 'a', refreshToken: 'r' });
  const stale = await credentialVersion(gateway, 'both');
  await put('both', { accessToken: 'setup', refreshToken: '' });
  const { errors } = await claim('both', stale);
  expect(errors[0].extensions.errors).toMatchObject([{ message: 'must be the current version' }]);
});

test('expiresAt is stored, and replaced by every store, refresh and deletion', async () => {
  const pair = { accessToken: 'a', refreshToken: 'r' };
  const expiry = async () => (await read('expiring')).expiresAt;
  await store('expiring', { ...pair, expiresAt: '2026-12-01T10:00:00+02:00' });
  expect(await expiry()).toBe('2026-12-01T08:00:00.000Z');

  const version = await credentialVersion(gateway, 'expiring');
  const input = { userId: 'expiring', version, ...pair, expiresAt: '2027-01-01T00:00:00.000Z' };
  await asPlatform(gateway, REFRESH, { input });
  expect(await expiry()).toBe('2027-01-01T00:00:00.000Z');

  await put('expiring', pair);
  expect(await expiry()).toBeNull();

  await store('expiring', { ...pair, expiresAt: '2026-12-01T08:00:00Z' });
  const next = await credentialVersion(gateway, 'expiring');
  await asPlatform(gateway, REFRESH, { input: { userId: 'expiring', version: next, ...pair } });
  expect(await expiry()).toBeNull();

  await store('expiring', { ...pair, expiresAt: '2026-12-01T08:00:00Z' });
  await rest(gateway, 'DELETE', '/editor/auth', { token: await member('expiring') });
  expect(await readRow('expiring')).toMatchObject({ expires_at: null });
});
