import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { credentialVersion, deleteUser } from '../support/records.ts';
import { platform } from '../support/tokens.ts';
import type { Pair } from './provider.ts';

const gateway = useGateway();
const { as } = gateway;

const claim = (userId: string, version: string, claimId: string) =>
  as(platform).claimRefresh({ userId, version, claimId });

async function store(userId: string) {
  await as(userId).connectEditor({ accessToken: 'a', refreshToken: 'r' });
  return credentialVersion(gateway, userId);
}

const remove = (userId: string) => as(userId).disconnectEditor();

const refresh = (userId: string, version: string, pair: Pair) =>
  as(platform).refreshCredential({ userId, version, ...pair });

const nextPair = (): Pair => ({ accessToken: randomUUID(), refreshToken: randomUUID() });

/** Simulates the passing of time by moving the end of a user's claim into the past. */
async function elapse(userId: string, seconds: number) {
  await gateway.database.sql(
    'update editor_credential set claimed_until = claimed_until - make_interval(secs => $2) where user_id = $1',
    [userId, seconds],
  );
}

const secondsUntil = (time: string) => (Date.parse(time) - Date.now()) / 1000;

test('grants a claim for 60 s to one claim ID, and returns its end to others', async () => {
  const version = await store('first');

  const granted = await claim('first', version, 'mine');
  expect(granted).toEqual({ granted: true, claimedUntil: expect.any(String) });
  expect(secondsUntil(granted.claimedUntil)).toBeGreaterThan(30);
  expect(secondsUntil(granted.claimedUntil)).toBeLessThanOrEqual(60.5);

  const { claimedUntil } = granted;
  expect(await claim('first', version, 'other')).toEqual({ granted: false, claimedUntil });
});

test('extends the claim of the same claim ID to 60 s from now', async () => {
  const version = await store('again');
  const first = await claim('again', version, 'mine');
  await elapse('again', 40);

  const second = await claim('again', version, 'mine');

  expect(second.granted).toBe(true);
  expect(Date.parse(second.claimedUntil)).toBeGreaterThanOrEqual(Date.parse(first.claimedUntil));
  await elapse('again', 40);
  expect(await claim('again', version, 'other')).toMatchObject({ granted: false });
});

test('grants an expired claim to another claim ID, and stores only the first refresh of the version', async () => {
  const version = await store('ended');
  await claim('ended', version, 'slow');
  await elapse('ended', 61);
  expect(await claim('ended', version, 'quick')).toMatchObject({ granted: true });
  expect(await claim('ended', version, 'slow')).toMatchObject({ granted: false });

  const next = await refresh('ended', version, nextPair());
  await expect(refresh('ended', version, nextPair())).rejects.toMatchObject(conflict('STALE_VERSION'));
  expect(await credentialVersion(gateway, 'ended')).toBe(next);
});

test('returns CONFLICT for a version that is not current, even to the claim ID that holds the claim', async () => {
  const version = await store('stale');
  await claim('stale', version, 'mine');
  await store('stale');
  for (const other of [version, randomUUIDv7()])
    await expect(claim('stale', other, 'mine')).rejects.toMatchObject({
      ...conflict('STALE_VERSION'),
      errors: [{ location: 'input.version', message: 'must be the current version', value: other }],
    });
});

test('redacts a token sent in place of the version', async () => {
  await store('mixed-up');
  await expect(claim('mixed-up', 'secret-access-token', 'mine')).rejects.toMatchObject({
    errors: [{ location: 'input.version', value: '[redacted]' }],
  });
});

test('returns NOT_FOUND if no credential is stored', async () => {
  const version = await store('deleted');
  await remove('deleted');
  await store('deleted-user');
  await deleteUser(gateway, 'deleted-user');
  for (const user of ['never', 'deleted', 'deleted-user'])
    await expect(claim(user, version, 'mine')).rejects.toMatchObject(refused('NOT_FOUND'));
});

const changes: [what: string, ends: boolean, change: (user: string, version: string) => Promise<unknown>][] =
  [
    ['storing a credential', true, (user) => store(user)],
    ['refreshing without the claim', true, (user, version) => refresh(user, version, nextPair())],
    [
      'deleting and storing a credential',
      true,
      async (user) => {
        await remove(user);
        await store(user);
      },
    ],
    ['reading the credential', false, (user) => credentialVersion(gateway, user)],
    ['a refresh that conflicts', false, (user) => refresh(user, randomUUIDv7(), nextPair()).catch(() => 0)],
    [
      'reporting a failure',
      false,
      (userId, version) => as(platform).reportEditorFailure({ userId, version, reason: 'REFRESH_FAILED' }),
    ],
  ];

test.each(changes)('%s ends the claim: %s', async (user, ends, change) => {
  const version = await store(user);
  await claim(user, version, 'mine');

  await change(user, version);

  const current = await credentialVersion(gateway, user);
  expect(await claim(user, current, 'other')).toMatchObject({ granted: ends });
});

test('deleting the credential deletes the claim', async () => {
  await claim('wiped', await store('wiped'), 'mine');
  await remove('wiped');
  const rows = await gateway.database.sql(
    'select claim_id, claimed_until from editor_credential where user_id = $1',
    ['wiped'],
  );
  expect(rows).toEqual([{ claim_id: null, claimed_until: null }]);
});

test('writes an audit line for a granted claim, without the claim ID', async () => {
  const version = await store('audited');
  await claim('audited', version, 'mine-alone');
  await claim('audited', version, 'other');
  await expect(claim('audited', randomUUIDv7(), 'mine-alone')).rejects.toThrow();

  const lines = gateway.logLines().filter((line) => line.includes('"audited"') && line.includes('claimed'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { audit: 'editor_credential.claimed', by: 'platform-service', user: 'audited' },
  ]);
  expect(gateway.logLines().join('\n')).not.toContain('mine-alone');
});
