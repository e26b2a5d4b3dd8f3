import { describe, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, asPlatform } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const none = { auth: { type: 'none' }, needs_reauth: false };
const connected = { auth: { type: 'subscription' }, needs_reauth: false };
const state = 'auth { type } needsReauth reauthReason';

const formatToken = (userId: string, name: string) => `${name}-of-${userId}`;
const createPair = (userId: string, name = '') => ({
  accessToken: formatToken(userId, `access${name}`),
  refreshToken: formatToken(userId, `refresh${name}`),
});

async function credential(userId: string) {
  const query =
    'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken } }';
  return (await asPlatform(gateway, query, { userId })).editorCredential;
}

async function report(userId: string, version: string, reason: string) {
  const input = { userId, version, reason };
  const data = await asPlatform(
    gateway,
    'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }',
    { input },
  );
  expect(data.reportEditorAuthFailure.applied).toBe(true);
}

async function revoke(userId: string) {
  await report(userId, (await credential(userId)).version, 'TOKEN_REVOKED');
}

async function read(userId: string) {
  return (await rest(gateway, 'GET', '/editor/auth', { token: await member(userId) })).body;
}

async function readOverGraphQL(userId: string) {
  return (await asMember(gateway, userId, `{ editorAuth { ${state} } }`)).editorAuth;
}

/** A user's operations over each API; each checks its reply. */
const clients = {
  REST: {
    async store(userId: string, pair: object) {
      const path = '/editor/auth/subscription';
      const reply = await rest(gateway, 'PUT', path, { token: await member(userId), body: pair });
      expect(reply.status, reply.text).toBe(200);
      expect(reply.body).toEqual(connected);
    },
    async delete(userId: string) {
      const reply = await rest(gateway, 'DELETE', '/editor/auth', { token: await member(userId) });
      expect(reply.status).toBe(204);
      expect(reply.text).toBe('');
    },
  },
  GraphQL: {
    async store(userId: string, pair: object) {
      const mutation = `mutation ($input: StoreEditorSubscriptionInput!) {
        storeEditorSubscription(input: $input) { editorAuth { ${state} } }
      }`;
      const data = await asMember(gateway, userId, mutation, { input: pair });
      expect(data.storeEditorSubscription.editorAuth).toEqual({
        auth: { type: 'SUBSCRIPTION' },
        needsReauth: false,
        reauthReason: null,
      });
    },
    async delete(userId: string) {
      const data = await asMember(
        gateway,
        userId,
        `mutation { deleteEditorAuth { editorAuth { ${state} } } }`,
      );
      expect(data.deleteEditorAuth.editorAuth).toEqual({
        auth: { type: 'NONE' },
        needsReauth: false,
        reauthReason: null,
      });
    },
  },
};

test('reports the type none if no credential is stored, and reading stores nothing', async () => {
  expect(await read('nobody')).toStrictEqual(none);
  expect(await readOverGraphQL('nobody')).toEqual({
    auth: { type: 'NONE' },
    needsReauth: false,
    reauthReason: null,
  });
  expect(await credential('nobody')).toBeNull();
  expect(await gateway.database.sql(`select from editor_credential where user_id = 'nobody'`)).toEqual([]);
});

describe.each(['REST', 'GraphQL'] as const)('over %s', (api) => {
  const { store, delete: remove } = clients[api];

  test('stores a credential, which the platform reads unchanged', async () => {
    const user = `stored-${api}`;
    await store(user, createPair(user));
    expect(await read(user)).toStrictEqual(connected);
    expect(await readOverGraphQL(user)).toMatchObject({ auth: { type: 'SUBSCRIPTION' }, needsReauth: false });
    expect(await credential(user)).toEqual({ version: expect.stringMatching(UUID_V7), ...createPair(user) });
  });

  test('accepts tokens of 1 and of 16,384 characters', async () => {
    const user = `lengths-${api}`;
    const pair = { accessToken: '!', refreshToken: '~'.repeat(16_384) };
    await store(user, pair);
    expect(await credential(user)).toMatchObject(pair);
  });

  test('storing replaces the credential, creates a new version and clears needs_reauth', async () => {
    const user = `replaced-${api}`;
    await store(user, createPair(user));
    const { version } = await credential(user);
    await revoke(user);
    expect(await read(user)).toStrictEqual({
      ...connected,
      needs_reauth: true,
      reauth_reason: 'token_revoked',
    });

    await store(user, createPair(user, '2'));

    expect(await read(user)).toStrictEqual(connected);
    const replaced = await credential(user);
    expect(replaced).toMatchObject(createPair(user, '2'));
    expect(replaced.version).not.toBe(version);
  });

  test('deleting removes the credential, and is idempotent', async () => {
    const user = `deleted-${api}`;
    await remove(user);
    await store(user, createPair(user));
    await revoke(user);
    await remove(user);
    await remove(user);

    expect(await read(user)).toStrictEqual(none);
    expect(await credential(user)).toBeNull();
    const rows = await gateway.database.sql(
      'select ciphertext, key_id, reauth_reason from editor_credential where user_id = $1',
      [user],
    );
    expect(rows).toEqual([{ ciphertext: null, key_id: null, reauth_reason: null }]);
  });

  test('a version is never reused, even for the same tokens or after a deletion', async () => {
    const user = `versions-${api}`;
    const versions = new Set<string>();
    for (let count = 1; count <= 4; count += 1) {
      await store(user, createPair(user));
      versions.add((await credential(user)).version);
      expect(versions.size).toBe(count);
      if (count % 2 === 0) await remove(user);
    }
  });

  test('stores exactly one of several concurrently sent credentials, completely', async () => {
    const user = `at-once-${api}`;
    const pairs = Array.from({ length: 8 }, (_, n) => createPair(user, `-${n}-`));
    await Promise.all(pairs.map((pair) => store(user, pair)));

    const { version: _version, ...pair } = await credential(user);
    expect(pairs).toContainEqual(pair);
  });
});

test.each(['TOKEN_EXPIRED', 'TOKEN_REVOKED', 'REFRESH_FAILED'])(
  'reports the reason %s over both APIs until a new credential is stored',
  async (reason) => {
    const user = `reason-${reason}`;
    await clients.REST.store(user, createPair(user));
    await report(user, (await credential(user)).version, reason);

    expect(await read(user)).toStrictEqual({
      ...connected,
      needs_reauth: true,
      reauth_reason: reason.toLowerCase(),
    });
    expect(await readOverGraphQL(user)).toEqual({
      auth: { type: 'SUBSCRIPTION' },
      needsReauth: true,
      reauthReason: reason,
    });
  },
);
