import { createSecretKey, randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createCredentialCipher, createSubscriptionCipher } from '../../src/encryption/bound-cipher.ts';
import { rotateKeys } from '../../src/encryption/rotate-keys.ts';
import { Secret } from '../../src/values/secret.ts';
import type { TestDatabase } from '../support/database.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { type Ended, runProcess, startProcess } from '../support/process.ts';
import { platform } from '../support/tokens.ts';

const newKey = () => randomBytes(32).toString('base64');
const [old, fresh, lost] = [newKey(), newKey(), newKey()];
const PROGRAM = 'src/commands/rotate-keys.ts';
/** The first line of the command. */
const USING = expect.stringMatching(/^Using the database "test_\w+" at 127\.0\.0\.1:\d+\.$/);
/** The new key first, as during a rotation. */
const BOTH = `new:${fresh},old:${old}`;

let database: TestDatabase;
/** Gateways with the new key first, and with the new key only. */
const gateway = useGateway({ ENCRYPTION_KEYS: BOTH });
const withoutOld = useGateway({ ENCRYPTION_KEYS: `new:${fresh}` }, gateway);
beforeAll(() => {
  database = gateway.database;
});

const serve = (keys: string) => startTestGateway({ ENCRYPTION_KEYS: keys }, database);

const settings = (keys = BOTH) => ({ DATABASE_URL: database.url, ENCRYPTION_KEYS: keys });
/** Runs the command. */
const runRotation = (keys?: string) => runProcess(PROGRAM, settings(keys));

/** Rotates the keys in this process, which starts faster. Returns the printed lines. */
async function rotate(keys?: string): Promise<string[]> {
  const { encryptionKeys, databaseTimeoutMs } = readConfig(settings(keys));
  const opened = await openDatabase({ url: database.url, poolSize: 1, timeoutMs: databaseTimeoutMs });
  const lines: string[] = [];
  try {
    await rotateKeys(opened.fork(), encryptionKeys ?? expect.unreachable(), (line) => void lines.push(line));
  } finally {
    await opened.close();
  }
  return lines;
}
const formatUser = (index: number) => `user-${String(index).padStart(4, '0')}`;
const createPair = (user: string, turn = 0) => ({
  accessToken: `access-${user}-${turn}`,
  refreshToken: `refresh-${user}-${turn}`,
});

const toKeys = (keys: Record<string, string>) =>
  new Map(Object.entries(keys).map(([id, key]) => [id, createSecretKey(Buffer.from(key, 'base64'))]));

/** Inserts credentials of a number of users, encrypted with a key. */
async function fill(count: number, keyId = 'old', key = old, first = 0): Promise<void> {
  const cipher = createCredentialCipher(toKeys({ [keyId]: key }));
  const users = Array.from({ length: count }, (_none, index) => formatUser(first + index));
  const ciphertexts = users.map((userId) => {
    const { accessToken, refreshToken } = createPair(userId);
    const pair = { accessToken: new Secret(accessToken), refreshToken: new Secret(refreshToken) };
    return cipher.encrypt(pair, { userId, version: '3' });
  });
  await database.sql(
    `insert into editor_credential (user_id, version, ciphertext, key_id, created_at, updated_at)
     select u, '3', c, $3, now(), now() from unnest($1::text[], $2::text[]) as t (u, c)`,
    [users, await Promise.all(ciphertexts), keyId],
  );
}

/** Inserts two push subscriptions for each of a number of users, encrypted with a key. */
async function fillSubscriptions(count: number, keyId = 'old', key = old, first = 0): Promise<void> {
  const cipher = createSubscriptionCipher(toKeys({ [keyId]: key }));
  const owners = Array.from({ length: 2 * count }, (_none, index) => ({
    userId: formatUser(first + Math.floor(index / 2)),
    id: `${keyId}-${first}-${index}`,
  }));
  const [p256dh, auth] = [new Secret('public'), new Secret('secret')];
  const ciphertexts = owners.map((owner) =>
    cipher.encrypt({ endpoint: new Secret(`https://push.example.com/${owner.id}`), p256dh, auth }, owner),
  );
  await database.sql(
    `insert into push_subscription (user_id, id, host, ciphertext, key_id, created_at, updated_at)
     select u, i, 'push.example.com', c, $4, now(), now() from unnest($1::text[], $2::text[], $3::text[]) as t (u, i, c)`,
    [owners.map(({ userId }) => userId), owners.map(({ id }) => id), await Promise.all(ciphertexts), keyId],
  );
}

async function countByKey(table = 'editor_credential'): Promise<Record<string, number>> {
  const rows = await database.sql(
    `select key_id, count(*)::int as count from ${table} group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map(({ key_id, count }) => [String(key_id), Number(count)]));
}

const READ =
  'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken } }';
const read = async (gateway: TestGateway, userId: string) =>
  (await gateway.as(platform).run(READ, { userId })).editorCredential;
const status = async (gateway: TestGateway, userId: string) =>
  (await gateway.as(userId).rest.get('/editor/auth')).body;

describe('with all keys', () => {
  afterEach(async () => {
    await database.sql('delete from editor_credential');
  });

  test('re-encrypts credentials of older keys and reports its progress, so that the old key can be removed', async () => {
    await fill(250);
    await fill(5, 'older', lost, 250);
    await fill(5, 'new', fresh, 255);
    const select = 'select user_id, version, reauth_reason, updated_at from editor_credential order by 1';
    const before = await database.sql(select);

    const { status: exit, stdout, stderr } = await runRotation(`${BOTH},older:${lost}`);

    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual([
      USING,
      'Credentials encrypted with keys other than "new": 255',
      'Re-encrypted 100, 155 left.',
      'Re-encrypted 100, 55 left.',
      'Re-encrypted 55, 0 left.',
      'All credentials are encrypted with "new".',
      'Push subscriptions encrypted with keys other than "new": 0',
      'All push subscriptions are encrypted with "new".',
    ]);
    expect(await countByKey()).toEqual({ new: 260 });
    expect(await database.sql(select)).toEqual(before);
    for (const user of [0, 100, 249, 250, 254, 259].map(formatUser)) {
      expect(await status(withoutOld, user)).toMatchObject({ needs_reauth: false });
      expect(await read(withoutOld, user)).toEqual({ version: '3', ...createPair(user) });
    }
    expect(await rotate(`new:${fresh}`)).toHaveLength(4);
  });

  test('concurrent reads, stores, refreshes and deletions lose nothing', async () => {
    const count = 300;
    await fill(count);
    const another = await serve(`old:${old},new:${fresh}`);
    const expected = new Map<string, unknown>();
    const rotation = { isOver: false };

    const traffic = async (first: number) => {
      for (let index = first; index < count && !rotation.isOver; index += 4) {
        const userId = formatUser(index);
        expect(await read(another, userId)).toEqual({ version: '3', ...createPair(userId) });
        const input = createPair(userId, 1);
        if (first === 0) await gateway.as(userId).connectEditor(input);
        else if (first === 1)
          await gateway.as(platform).refreshCredential({ userId, version: '3', ...input });
        else if (first === 2) await gateway.as(userId).disconnectEditor();
        const stays = { version: '3', ...createPair(userId) };
        const replaced = { version: expect.not.stringMatching(/^3$/), ...input };
        expected.set(userId, [replaced, replaced, null, stays][first]);
        expect(await read(another, userId)).toEqual(expected.get(userId));
      }
    };
    const ended = runRotation().finally(() => {
      rotation.isOver = true;
    });
    await Promise.all([0, 1, 2, 3].map(traffic));

    expect(await ended).toMatchObject({ status: 0, stderr: '' });
    await another.close();
    const users = Array.from({ length: count }, (_none, index) => formatUser(index));
    const pairs = await Promise.all(users.map((user) => read(withoutOld, user)));
    expect(expected.size).toBeGreaterThan(0);
    expect(pairs).toEqual(
      users.map((user) => (expected.has(user) ? expected.get(user) : { version: '3', ...createPair(user) })),
    );
  });

  test('can be killed and run again', async () => {
    await fill(250);
    const locker = new pg.Client({ connectionString: database.url });
    await locker.connect();
    await locker.query('begin');
    await locker.query('select from editor_credential where user_id = $1 for update', [formatUser(150)]);
    const first = startProcess(PROGRAM, settings());
    await first.waitForOutput(/Re-encrypted 100, 150 left/);
    await first.stop('SIGKILL');
    await locker.end();
    expect(await countByKey()).toEqual({ new: 100, old: 150 });

    expect((await rotate())[0]).toBe('Credentials encrypted with keys other than "new": 150');
    expect(await countByKey()).toEqual({ new: 250 });
  });

  test('two concurrent runs do not affect each other', async () => {
    await fill(250);
    await Promise.all([rotate(), rotate()]);
    expect(await countByKey()).toEqual({ new: 250 });
  });
});

describe('with missing keys and damaged records', () => {
  const withLost = `${BOTH},lost:${lost},older:${lost}`;
  const [damagedCredential, damagedSubscription] = [formatUser(70), formatUser(3)];
  const select = `select * from editor_credential where key_id = 'lost' or ciphertext = 'eyJ.broken' order by 1`;
  let before: unknown;
  let ended: Ended;
  beforeAll(async () => {
    await fill(150);
    await fill(2, 'lost', lost, 150);
    await fillSubscriptions(120);
    await fillSubscriptions(1, 'older', lost, 120);
    const damage = (table: string, ciphertext: string, userId: string) =>
      database.sql(`update ${table} set ciphertext = ${ciphertext} where user_id = $1`, [userId]);
    await damage('editor_credential', `'eyJ.broken'`, damagedCredential);
    await damage('push_subscription', `ciphertext || 'A'`, damagedSubscription);
    before = await database.sql(select);
    ended = await runRotation();
  });

  test('exits with status 1, and reports its progress, the damaged records, and how to fix each', () => {
    expect(ended.status).toBe(1);
    expect(ended.stdout.trim().split('\n')).toEqual([
      USING,
      'Credentials encrypted with keys other than "new": 152',
      'Re-encrypted 99, 53 left.',
      `Skipped, because decryption failed: users ["${damagedCredential}"].`,
      'Re-encrypted 50, 3 left.',
      'Push subscriptions encrypted with keys other than "new": 242',
      'Re-encrypted 198, 44 left.',
      `Skipped, because decryption failed: users ["${damagedSubscription}"].`,
      'Re-encrypted 40, 4 left.',
    ]);
    const missing = (keyId: string) =>
      `  2 encrypted with "${keyId}", which ENCRYPTION_KEYS does not contain. Add it after the first key, then run this command again.`;
    const advice = (how: string) =>
      `Users named above: the ciphertext is damaged, or the ID "old" now names a different key. Restore that key, or have these users ${how} again.`;
    const lines = ended.stderr.split('\n').filter((line) => !/^ {4}(Others|Then)/.test(line));
    expect(lines).toEqual([
      'Credentials not re-encrypted: 3',
      missing('lost'),
      '  1 encrypted with "old".',
      `    ${advice('connect')}`,
      'Push subscriptions not re-encrypted: 4',
      '  2 encrypted with "old".',
      `    ${advice('register their browsers')}`,
      missing('older'),
      '',
    ]);
  });

  test('re-encrypts all other credentials and push subscriptions', async () => {
    expect(await countByKey()).toEqual({ lost: 2, new: 149, old: 1 });
    expect(await countByKey('push_subscription')).toEqual({ new: 238, old: 2, older: 2 });
    const cipher = createSubscriptionCipher(toKeys({ new: fresh }));
    const rows = await database.sql(
      `select user_id, id, ciphertext from push_subscription where key_id = 'new'`,
    );
    for (const { user_id, id, ciphertext } of rows) {
      const owner = { userId: String(user_id), id: String(id) };
      const { endpoint } = await cipher.decrypt(String(ciphertext), owner);
      expect(endpoint.reveal()).toBe(`https://push.example.com/${id}`);
    }
  });

  test('leaves damaged credentials and those of a missing key unchanged, so that these can be read with it', async () => {
    expect(await database.sql(select)).toEqual(before);
    const user = formatUser(150);
    expect(await status(gateway, user)).toMatchObject({ reauth_reason: 'credential_unreadable' });
    const complete = await serve(withLost);
    expect(await read(complete, user)).toEqual({ version: '3', ...createPair(user) });
    await complete.close();
  });

  test('succeeds after the keys were added and the damaged records deleted', async () => {
    await database.sql('delete from editor_credential where user_id = $1', [damagedCredential]);
    await database.sql('delete from push_subscription where user_id = $1', [damagedSubscription]);
    await rotate(withLost);
    expect(await countByKey()).toEqual({ new: 151 });
    expect(await countByKey('push_subscription')).toEqual({ new: 240 });
  });
});
