import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { platform } from '../support/tokens.ts';

const newKey = () => randomBytes(32).toString('base64');
const [firstKey, secondKey] = [newKey(), newKey()];

const gateway = useGateway({ ENCRYPTION_KEYS: `first:${firstKey}` });
/** Uses the same database with only a new key: credentials encrypted with the first key are unreadable. */
let withoutKey: TestGateway;
/** Uses the same database with the new key first, followed by the old one. */
let rotated: TestGateway;
beforeAll(async () => {
  withoutKey = await startTestGateway({ ENCRYPTION_KEYS: `second:${secondKey}` }, gateway.database);
  const keys = `second:${secondKey},first:${firstKey}`;
  rotated = await startTestGateway({ ENCRYPTION_KEYS: keys }, gateway.database);
});
afterAll(async () => {
  await withoutKey.close();
  await rotated.close();
});

const pair = { accessToken: 'ACCESS-k3yb0ard', refreshToken: 'REFRESH-m0n1t0r' };

async function store(userId: string, at = gateway) {
  const reply = await at.as(userId).rest.put('/editor/auth/subscription', pair);
  expect(reply.status).toBe(200);
  return reply;
}

const status = async (userId: string, at = gateway) => (await at.as(userId).rest.get('/editor/auth')).body;
const credential = (userId: string, at = gateway) => at.as(platform).editorCredential({ userId });

/** Expects an internal error for reading a credential that cannot be decrypted. */
async function expectUnreadable(userId: string, at = gateway) {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { accessToken } }';
  const reply = await at.as(platform).graphql(query, { userId });
  expect(reply.errors.map(({ extensions }) => extensions.code)).toEqual(['INTERNAL_ERROR']);
  expect(reply.data?.editorCredential ?? null).toBeNull();
  expect(reply.text).not.toContain('key');
}

/** Returns the content of all tables. */
async function dumpTables(): Promise<string> {
  const tables = await gateway.database.sql(`select tablename from pg_tables where schemaname = 'public'`);
  const texts = await Promise.all(
    tables.map(({ tablename }) => gateway.database.sql(`select t::text from "${tablename}" t`)),
  );
  return JSON.stringify(texts);
}

test('stores tokens encrypted, with different ciphertexts for the same tokens', async () => {
  await store('hidden-1');
  await store('hidden-2');
  const text = await dumpTables();
  expect(text).toContain('hidden-1');
  const forms = (token: string) => [
    token,
    Buffer.from(token).toString('base64url').slice(0, -1),
    Buffer.from(token).toString('hex'),
  ];
  for (const form of Object.values(pair).flatMap(forms)) expect(text).not.toContain(form);

  const rows = await gateway.database.sql('select distinct ciphertext from editor_credential');
  expect(rows).toHaveLength(2);
});

test('never returns tokens from account operations and never logs them', async () => {
  const { rest, connectEditor } = gateway.as('unseen');
  const replies = [await store('unseen'), await rest.get('/editor/auth'), await rest.delete('/editor/auth')];
  await connectEditor(pair);
  await credential('unseen');

  for (const { text } of replies) expect(text).not.toMatch(/ACCESS|REFRESH/);
  expect(gateway.logLines().join('\n')).not.toMatch(/ACCESS|REFRESH/);
});

test("does not decrypt a ciphertext that was moved to another user's row or another version", async () => {
  await store('victim');
  await store('thief');
  await gateway.database.sql(
    `update editor_credential set ciphertext = (select ciphertext from editor_credential where user_id = 'victim')
      where user_id = 'thief'`,
  );
  await expectUnreadable('thief');
  expect(await credential('victim')).toMatchObject(pair);

  await gateway.database.sql(`update editor_credential set version = '7' where user_id = 'victim'`);
  await expectUnreadable('victim');
});

test('does not decrypt a modified ciphertext', async () => {
  await store('tampered');
  await gateway.database.sql(
    `update editor_credential set ciphertext = overlay(ciphertext placing
       case when substr(ciphertext, length(ciphertext) - 30, 1) = 'A' then 'B' else 'A' end
       from length(ciphertext) - 30 for 1) where user_id = 'tampered'`,
  );
  await expectUnreadable('tampered');
});

test('a credential whose key is not configured requires reauthentication, and is an error for the platform', async () => {
  await store('locked');
  const unreadable = {
    auth: { type: 'subscription' },
    needs_reauth: true,
    reauth_reason: 'credential_unreadable',
  };
  expect(await status('locked', withoutKey)).toStrictEqual(unreadable);
  await expectUnreadable('locked', withoutKey);
  expect(await status('locked')).toMatchObject({ needs_reauth: false });

  await store('locked', withoutKey);
  expect(await status('locked', withoutKey)).toMatchObject({ needs_reauth: false });
  expect(await credential('locked', withoutKey)).toMatchObject(pair);
});

test('an unreadable credential can be deleted', async () => {
  await store('lost');
  expect((await withoutKey.as('lost').rest.delete('/editor/auth')).status).toBe(204);
  expect(await status('lost', withoutKey)).toMatchObject({ auth: { type: 'none' }, needs_reauth: false });
});

test('after a key rotation old credentials remain readable, and new ones use the new key', async () => {
  await store('rotating');
  expect(await credential('rotating', rotated)).toMatchObject(pair);
  await store('rotating', rotated);
  expect(await status('rotating')).toMatchObject({ reauth_reason: 'credential_unreadable' });
  expect(await credential('rotating', withoutKey)).toMatchObject(pair);
});
