import { randomUUID, randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import type { Pair } from '../support/provider.ts';
import { asPlatform, credentialVersion, deleteUser } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const gateway = useGateway();

const CLAIM = `mutation ($input: ClaimEditorCredentialRefreshInput!) {
  claimEditorCredentialRefresh(input: $input) { granted claimedUntil }
}`;
const REFRESH = `mutation ($input: RefreshEditorCredentialInput!) {
  refreshEditorCredential(input: $input) { version }
}`;
const REPORT = `mutation ($input: ReportEditorAuthFailureInput!) {
  reportEditorAuthFailure(input: $input) { applied }
}`;

/** Sends a claim, and returns its result or the code and items of its error. */
async function claim(userId: string, version: string, claimId: string) {
  const input = { userId, version, claimId };
  const { data, errors } = await graphql(gateway, CLAIM, { input }, { token: await platform() });
  if (errors.length === 0) return data.claimEditorCredentialRefresh;
  expect([errors.length, data]).toEqual([1, { claimEditorCredentialRefresh: null }]);
  return { code: errors[0].extensions.code, items: errors[0].extensions.errors };
}

async function store(userId: string, pair: Pair = { accessToken: 'a', refreshToken: 'r' }) {
  const token = await member(userId);
  const { status } = await rest(gateway, 'PUT', '/editor/auth/subscription', { token, body: pair });
  expect(status).toBe(200);
  return credentialVersion(gateway, userId);
}

async function remove(userId: string) {
  await rest(gateway, 'DELETE', '/editor/auth', { token: await member(userId) });
}

async function refresh(userId: string, version: string, pair: Pair): Promise<string> {
  const input = { userId, version, ...pair };
  return (await asPlatform(gateway, REFRESH, { input })).refreshEditorCredential.version;
}

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
  await expect(refresh('ended', version, nextPair())).rejects.toThrow('CONFLICT');
  expect(await credentialVersion(gateway, 'ended')).toBe(next);
});

test('returns CONFLICT for a version that is not current, even to the claim ID that holds the claim', async () => {
  const version = await store('stale');
  await claim('stale', version, 'mine');
  await store('stale');
  for (const other of [version, randomUUIDv7()]) {
    expect(await claim('stale', other, 'mine')).toEqual({
      code: 'CONFLICT',
      items: [{ location: 'input.version', message: 'must be the current version', value: other }],
    });
  }
});

test('redacts a token sent in place of the version', async () => {
  await store('mixed-up');
  const { items } = await claim('mixed-up', 'secret-access-token', 'mine');
  expect(items).toMatchObject([{ location: 'input.version', value: '[redacted]' }]);
});

test('returns NOT_FOUND if no credential is stored', async () => {
  const notFound = { code: 'NOT_FOUND' };
  expect(await claim('never', randomUUIDv7(), 'mine')).toEqual(notFound);
  const version = await store('deleted');
  await remove('deleted');
  expect(await claim('deleted', version, 'mine')).toEqual(notFound);
  await store('deleted-user');
  await deleteUser(gateway, 'deleted-user');
  expect(await claim('deleted-user', version, 'mine')).toEqual(notFound);
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
      (userId, version) =>
        asPlatform(gateway, REPORT, { input: { userId, version, reason: 'REFRESH_FAILED' } }),
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
  await claim('audited', randomUUIDv7(), 'mine-alone');

  const lines = gateway.logLines().filter((line) => line.includes('"audited"') && line.includes('claimed'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { audit: 'editor_credential.claimed', by: 'platform-service', user: 'audited' },
  ]);
  expect(gateway.logLines().join('\n')).not.toContain('mine-alone');
});

type Step = { claim: 'a' | 'b' | 'c' } | { elapse: number } | { change: 'store' | 'refresh' };
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ claim: fc.constantFrom('a', 'b', 'c') }) },
    // Far enough from multiples of 60 s that the duration of the test itself does not matter.
    { weight: 3, arbitrary: fc.record({ elapse: fc.constantFrom(25, 70) }) },
    { weight: 1, arbitrary: fc.record({ change: fc.constantFrom('store', 'refresh') }) },
  ),
  { maxLength: 15 },
) satisfies fc.Arbitrary<Step[]>;

test('at most one claim ID holds the claim, over any sequence of claims, changes and elapsed time', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const user = `sequence-${++runs}`;
      let version = await store(user);
      let held: { by: string; seconds: number } | undefined;
      for (const step of sequence) {
        if ('elapse' in step) {
          await elapse(user, step.elapse);
          if (held !== undefined) held.seconds -= step.elapse;
          if (held !== undefined && held.seconds <= 0) held = undefined;
        } else if ('change' in step) {
          version = await (step.change === 'store' ? store(user) : refresh(user, version, nextPair()));
          held = undefined;
        } else {
          const isFree = held === undefined || held.by === step.claim;
          expect(await claim(user, version, step.claim)).toMatchObject({ granted: isFree });
          if (isFree) held = { by: step.claim, seconds: 60 };
        }
      }
    }),
    { numRuns: 15 },
  );
});
