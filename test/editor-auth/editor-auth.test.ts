import { describe, expect, test } from 'vitest';
import { conflict } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { platform } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const none = { auth: { type: 'none' }, needs_reauth: false };
const connected = { auth: { type: 'subscription' }, needs_reauth: false };

const createPair = (userId: string, name = '') => ({
  accessToken: `access${name}-of-${userId}`,
  refreshToken: `refresh${name}-of-${userId}`,
});

const READ =
  'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken expiresAt } }';
/** Returns a stored credential, or null. */
const credential = async (userId: string) => (await as(platform).run(READ, { userId })).editorCredential;

async function report(userId: string, reason: string) {
  const { version } = await credential(userId);
  const { applied } = await as(platform).reportEditorFailure({ userId, version, reason });
  expect(applied).toBe(true);
}

const read = async (userId: string) => (await as(userId).rest.get('/editor/auth')).body;

async function store(userId: string, pair: object = createPair(userId)) {
  const reply = await as(userId).rest.put('/editor/auth/subscription', pair);
  expect([reply.status, reply.body]).toEqual([200, connected]);
}

async function remove(userId: string) {
  const reply = await as(userId).rest.delete('/editor/auth');
  expect([reply.status, reply.text]).toEqual([204, '']);
}

test('reports the type none if no credential is stored, and reading stores nothing', async () => {
  expect(await read('nobody')).toStrictEqual(none);
  expect(await as('nobody').editorConnection()).toMatchObject({
    auth: { type: 'NONE' },
    needsReauth: false,
    reauthReason: null,
  });
  expect(await credential('nobody')).toBeNull();
  expect(await gateway.database.sql(`select from editor_credential where user_id = 'nobody'`)).toEqual([]);
});

test('stores a credential over both APIs, which the platform reads unchanged, and deletes it', async () => {
  for (const api of ['REST', 'GraphQL']) {
    const user = `stored-${api}`;
    const pair = createPair(user);
    const auth = { auth: { type: 'SUBSCRIPTION' }, needsReauth: false, reauthReason: null };
    if (api === 'REST') await store(user);
    else expect(await as(user).connectEditor(pair)).toMatchObject(auth);
    expect(await read(user)).toStrictEqual(connected);
    expect(await as(user).editorConnection()).toMatchObject(auth);
    expect(await credential(user)).toEqual({
      ...{ version: expect.stringMatching(UUID_V7), expiresAt: null },
      ...pair,
    });
  }
  expect(await as('stored-GraphQL').disconnectEditor()).toMatchObject({
    auth: { type: 'NONE' },
    needsReauth: false,
  });
  expect(await credential('stored-GraphQL')).toBeNull();
});

test('accepts tokens of 1 and of 16,384 characters', async () => {
  const pair = { accessToken: '!', refreshToken: '~'.repeat(16_384) };
  await store('lengths', pair);
  expect(await credential('lengths')).toMatchObject(pair);
});

test('storing replaces the credential, creates a new version and clears needs_reauth', async () => {
  await store('replaced');
  const { version } = await credential('replaced');
  await report('replaced', 'TOKEN_REVOKED');

  const pair = createPair('replaced', '2');
  await store('replaced', pair);

  expect(await read('replaced')).toStrictEqual(connected);
  const replaced = await credential('replaced');
  expect(replaced).toMatchObject(pair);
  expect(replaced.version).not.toBe(version);
});

test('deleting removes the credential, and is idempotent', async () => {
  await remove('deleted');
  await store('deleted');
  await report('deleted', 'TOKEN_REVOKED');
  for (const _ of ['once', 'again']) await remove('deleted');

  expect(await read('deleted')).toStrictEqual(none);
  expect(await credential('deleted')).toBeNull();
  const rows = await gateway.database.sql(
    `select ciphertext, key_id, reauth_reason from editor_credential where user_id = 'deleted'`,
  );
  expect(rows).toEqual([{ ciphertext: null, key_id: null, reauth_reason: null }]);
});

test.each(['TOKEN_EXPIRED', 'TOKEN_REVOKED', 'REFRESH_FAILED'])(
  'reports the reason %s over both APIs until a new credential is stored',
  async (reason) => {
    const user = `reason-${reason}`;
    await store(user);
    await report(user, reason);

    const reauth_reason = reason.toLowerCase();
    expect(await read(user)).toStrictEqual({ ...connected, needs_reauth: true, reauth_reason });
    expect(await as(user).editorConnection()).toMatchObject({
      auth: { type: 'SUBSCRIPTION' },
      needsReauth: true,
      reauthReason: reason,
    });
    await store(user);
    expect(await read(user)).toStrictEqual(connected);
  },
);

describe('a pair without a refresh token', () => {
  const setup = { accessToken: 'setup', refreshToken: null, expiresAt: null };
  const put = (userId: string, body: object) => as(userId).rest.put('/editor/auth/subscription', body);
  const refresh = (input: object) => as(platform).refreshCredential(input);
  const claim = (userId: string, version: string) =>
    as(platform).claimRefresh({ userId, version, claimId: 'mine' });

  test('over REST, an empty refreshToken stores a pair without one', async () => {
    await store('empty', { accessToken: 'setup', refreshToken: '' });
    expect(await credential('empty')).toMatchObject(setup);
  });

  test.each<[what: string, body: object, message: string]>([
    ['no refreshToken', { accessToken: 'a' }, 'body.refreshToken is required'],
    ['a null refreshToken', { accessToken: 'a', refreshToken: null }, 'body.refreshToken must be a string'],
    ['an empty accessToken', { accessToken: '', refreshToken: '' }, 'body.accessToken must be 1 to 16384'],
    ['a space', { accessToken: 'a', refreshToken: ' ' }, 'body.refreshToken must be 1 to 16384'],
    ['expiresAt', { accessToken: 'a', refreshToken: 'b', expiresAt: null }, 'a part of body is not a known'],
  ])('over REST, %s is rejected', async (_what, sent, message) => {
    const { status, body } = await put('invalid', sent);
    expect([status, body.error]).toEqual([422, expect.stringContaining(message)]);
  });

  test('over GraphQL, refreshToken is null or omitted, and not empty', async () => {
    for (const input of [{ refreshToken: null }, {}]) {
      await as('absent').connectEditor({ accessToken: 'setup', ...input });
      expect(await credential('absent')).toMatchObject(setup);
    }
    const sent = as('absent').connectEditor({ accessToken: 'a', refreshToken: '' });
    await expect(sent).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ location: 'input.refreshToken', value: '[redacted]' }],
    });
  });

  test('cannot be claimed, which a stale version precedes, and can be replaced', async () => {
    await store('setup');
    const { version: stale } = await credential('setup');
    await store('setup', { accessToken: 'setup', refreshToken: '' });
    const { version } = await credential('setup');

    await expect(claim('setup', stale)).rejects.toMatchObject(conflict('STALE_VERSION', 'input.version'));
    await expect(claim('setup', version)).rejects.toMatchObject(conflict('NOT_REFRESHABLE', 'input.version'));
    const next = await refresh({ userId: 'setup', version, accessToken: 'next', refreshToken: 'refresh' });
    expect(await claim('setup', next)).toMatchObject({ granted: true });
  });

  test('can be stored by a refresh, whose retry returns the same version', async () => {
    await store('last');
    const { version } = await credential('last');
    const input = { userId: 'last', version, accessToken: 'final', refreshToken: null };

    const first = await refresh(input);

    expect(await credential('last')).toMatchObject({ accessToken: 'final', refreshToken: null });
    expect(await refresh(input)).toBe(first);
    await expect(refresh({ ...input, refreshToken: 'other' })).rejects.toMatchObject(
      conflict('STALE_VERSION'),
    );
  });
});

test('expiresAt is stored, and replaced by every store, refresh and deletion', async () => {
  const user = 'expiring';
  const pair = createPair(user);
  const refresh = async (given: object) => {
    const { version } = await credential(user);
    await as(platform).refreshCredential({ userId: user, version, ...pair, ...given });
  };
  const expected = async (expiresAt: string | null) =>
    expect(await credential(user)).toMatchObject({ expiresAt });

  await as(user).connectEditor({ ...pair, expiresAt: '2026-12-01T10:00:00+02:00' });
  await expected('2026-12-01T08:00:00.000Z');
  await refresh({ expiresAt: '2027-01-01T00:00:00.000Z' });
  await expected('2027-01-01T00:00:00.000Z');
  await refresh({});
  await expected(null);
  await as(user).connectEditor({ ...pair, expiresAt: '2026-12-01T08:00:00Z' });
  await store(user);
  await expected(null);
  await as(user).connectEditor({ ...pair, expiresAt: '2026-12-01T08:00:00Z' });
  await remove(user);
  const rows = await gateway.database.sql(
    `select expires_at from editor_credential where user_id = '${user}'`,
  );
  expect(rows).toEqual([{ expires_at: null }]);
});
