import { expect, test } from 'vitest';
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

/** Returns a stored credential, or null. */
const credential = async (userId: string) =>
  (
    await as(platform).graphql(
      'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken } }',
      { userId },
    )
  ).data.editorCredential;

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
    expect(await credential(user)).toEqual({ version: expect.stringMatching(UUID_V7), ...pair });
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

test('stores exactly one of several concurrently sent credentials, completely', async () => {
  const pairs = Array.from({ length: 8 }, (_, n) => createPair('at-once', `-${n}-`));
  await Promise.all(pairs.map((pair) => store('at-once', pair)));
  const { version: _version, ...pair } = await credential('at-once');
  expect(pairs).toContainEqual(pair);
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
