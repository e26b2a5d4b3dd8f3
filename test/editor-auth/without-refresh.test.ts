import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { conflict } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { credentialVersion } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

/* Pairs without a refresh token, and the expiry of access tokens. */

const gateway = useGateway();

const { as } = gateway;

const put = (userId: string, body: object) => as(userId).rest.put('/editor/auth/subscription', body);
const store = (userId: string, input: object) => as(userId).connectEditor(input);
const read = async (userId: string) => {
  const { accessToken, refreshToken, expiresAt } = await as(platform).editorCredential({ userId });
  return { accessToken, refreshToken, expiresAt };
};
const refresh = (input: object) => as(platform).refreshCredential(input);
const claim = (userId: string, version: string) =>
  as(platform).claimRefresh({ userId, version, claimId: randomUUID() });

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
  await expect(store('empty', { accessToken: 'a', refreshToken: '' })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'input.refreshToken', value: '[redacted]' }],
  });
});

test('a pair without a refresh token cannot be claimed, and can be replaced', async () => {
  await put('setup', { accessToken: 'setup', refreshToken: '' });
  const version = await credentialVersion(gateway, 'setup');

  await expect(claim('setup', version)).rejects.toMatchObject(conflict('NOT_REFRESHABLE', 'input.version'));
  expect(await readRow('setup')).toMatchObject({ claim_id: null });
  const next = await refresh({ userId: 'setup', version, accessToken: 'next', refreshToken: 'refresh' });
  expect(await claim('setup', next)).toMatchObject({ granted: true });
});

test('a refresh can store a pair without a refresh token, and its retry returns the same version', async () => {
  await put('last', { accessToken: 'a', refreshToken: 'r' });
  const version = await credentialVersion(gateway, 'last');
  const input = { userId: 'last', version, accessToken: 'final', refreshToken: null };

  const first = await refresh(input);

  expect(await read('last')).toEqual({ accessToken: 'final', refreshToken: null, expiresAt: null });
  expect(await refresh(input)).toBe(first);
  await expect(refresh({ ...input, refreshToken: 'other' })).rejects.toMatchObject(conflict('STALE_VERSION'));
});

test('a stale version is reported before a missing refresh token', async () => {
  await put('both', { accessToken: 'a', refreshToken: 'r' });
  const stale = await credentialVersion(gateway, 'both');
  await put('both', { accessToken: 'setup', refreshToken: '' });
  await expect(claim('both', stale)).rejects.toMatchObject(conflict('STALE_VERSION', 'input.version'));
});

test('expiresAt is stored, and replaced by every store, refresh and deletion', async () => {
  const pair = { accessToken: 'a', refreshToken: 'r' };
  const expiry = async () => (await read('expiring')).expiresAt;
  await store('expiring', { ...pair, expiresAt: '2026-12-01T10:00:00+02:00' });
  expect(await expiry()).toBe('2026-12-01T08:00:00.000Z');

  const version = await credentialVersion(gateway, 'expiring');
  await refresh({ userId: 'expiring', version, ...pair, expiresAt: '2027-01-01T00:00:00.000Z' });
  expect(await expiry()).toBe('2027-01-01T00:00:00.000Z');

  await put('expiring', pair);
  expect(await expiry()).toBeNull();

  await store('expiring', { ...pair, expiresAt: '2026-12-01T08:00:00Z' });
  const next = await credentialVersion(gateway, 'expiring');
  await refresh({ userId: 'expiring', version: next, ...pair });
  expect(await expiry()).toBeNull();

  await store('expiring', { ...pair, expiresAt: '2026-12-01T08:00:00Z' });
  await as('expiring').rest.delete('/editor/auth');
  expect(await readRow('expiring')).toMatchObject({ expires_at: null });
});
