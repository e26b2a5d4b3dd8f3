import { randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { credentialVersion, deleteUser } from '../support/records.ts';
import { platform, signToken } from '../support/tokens.ts';

/* What the platform does with credentials. credential-changes.test.ts has the rules of each change. */

const gateway = useGateway();
const { as } = gateway;

const first = { accessToken: 'first-access', refreshToken: 'first-refresh' };
const second = { accessToken: 'second-access', refreshToken: 'second-refresh' };
const third = { accessToken: 'third-access', refreshToken: 'third-refresh' };

const READ =
  'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken needsReauth reauthReason } }';

/** Stores a credential and returns its version. */
async function store(userId: string, pair = first): Promise<string> {
  await as(userId).connectEditor(pair);
  return credentialVersion(gateway, userId);
}

const remove = (userId: string) => as(userId).disconnectEditor();
/** Returns a stored credential, or null. */
const read = async (userId: string) => (await as(platform).run(READ, { userId })).editorCredential;
const report = (userId: string, version: string, reason = 'TOKEN_EXPIRED') =>
  as(platform).reportEditorFailure({ userId, version, reason });
const refresh = (userId: string, version: string, pair = second) =>
  as(platform).refreshCredential({ userId, version, ...pair });
const claim = (userId: string, version: string, claimId: string) =>
  as(platform).claimRefresh({ userId, version, claimId });

const expectConflict = (userId: string, version: string) =>
  expect(refresh(userId, version)).rejects.toMatchObject(conflict('STALE_VERSION', 'input.version'));

const readRow = (userId: string) =>
  gateway.database.sql('select * from editor_credential where user_id = $1', [userId]);

describe('a report', () => {
  test('of a failure of the current version is returned with the credential until another one is stored', async () => {
    const version = await store('failed');
    const working = { needsReauth: false, reauthReason: null };
    expect(await read('failed')).toEqual({ version, ...first, ...working });
    for (const reauthReason of ['REFRESH_FAILED', 'TOKEN_REVOKED']) {
      const failed = { needsReauth: true, reauthReason };
      expect(await report('failed', version, reauthReason)).toMatchObject({
        applied: true,
        editorAuth: { auth: { type: 'SUBSCRIPTION' }, ...failed },
      });
      expect(await read('failed')).toEqual({ version, ...first, ...failed });
    }
    await store('failed');
    expect(await read('failed')).toMatchObject(working);
  });

  test('is ignored, with applied: false, for another version and if no credential is stored', async () => {
    const earlier = await store('another');
    await store('another', second);
    const removed = await store('removed');
    await remove('removed');
    for (const [user, version, type] of [
      ['another', earlier, 'SUBSCRIPTION'],
      ['another', randomUUIDv7(), 'SUBSCRIPTION'],
      ['removed', removed, 'NONE'],
      ['never', randomUUIDv7(), 'NONE'],
    ] as const) {
      const before = await readRow(user);
      expect(await report(user, version)).toMatchObject({
        applied: false,
        editorAuth: { auth: { type }, needsReauth: false, reauthReason: null },
      });
      expect(await readRow(user)).toEqual(before);
    }
  });
});

describe('a refresh', () => {
  test('creates a new version and clears needs_reauth', async () => {
    const version = await store('refreshed');
    await report('refreshed', version);

    const next = await refresh('refreshed', version);

    expect(next).not.toBe(version);
    expect(await read('refreshed')).toMatchObject({ version: next, ...second });
    const { body } = await as('refreshed').rest.get('/editor/auth');
    expect(body).toStrictEqual({ auth: { type: 'subscription' }, needs_reauth: false });
  });

  test('that is repeated returns the version that the first one created, and changes nothing', async () => {
    const version = await store('again');
    const next = await refresh('again', version);
    await report('again', next);
    const before = await readRow('again');
    expect(await refresh('again', version)).toBe(next);
    expect(await readRow('again')).toEqual(before);
  });

  test.each<[what: string, change: (user: string, refreshed: string) => Promise<unknown>]>([
    ['refreshed again with the same tokens', (user, refreshed) => refresh(user, refreshed)],
    ['stored by its user', (user) => store(user, second)],
    ['deleted', remove],
  ])('that is repeated returns CONFLICT after the credential was %s', async (user, change) => {
    const version = await store(user);
    await change(user, await refresh(user, version));
    await expectConflict(user, version);
  });

  test('of a version that is not current returns CONFLICT and changes nothing, even with the current tokens', async () => {
    const version = await store('stale');
    await refresh('stale', version, third);
    const before = await readRow('stale');
    for (const other of [version, randomUUIDv7()]) await expectConflict('stale', other);
    expect(await readRow('stale')).toEqual(before);

    const earlier = await store('same');
    await store('same', second);
    for (const other of [earlier, randomUUIDv7()]) await expectConflict('same', other);
  });

  test('one of several at once of a version is stored; the others return CONFLICT', async () => {
    const version = await store('race');
    const pairs = Array.from({ length: 8 }, (_, n) => ({ accessToken: `a-${n}`, refreshToken: `r-${n}` }));
    const outcomes = await Promise.allSettled(pairs.map((pair) => refresh('race', version, pair)));

    const winners = outcomes.flatMap((outcome, n) =>
      outcome.status === 'fulfilled' ? [{ version: outcome.value, ...pairs[n] }] : [],
    );
    expect(winners).toHaveLength(1);
    expect(await read('race')).toMatchObject(winners[0] ?? {});
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(conflict('STALE_VERSION'));
  });
});

type Step = 'store' | 'refresh' | 'remove' | 'deleteUser';

test('versions never repeat over any sequence of changes, and only the current one is accepted', async () => {
  let runs = 0;
  const step = fc.constantFrom<Step>('store', 'refresh', 'remove', 'deleteUser');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (sequence) => {
      const user = `sequence-${++runs}`;
      const versions: string[] = [];
      for (const [index, step] of sequence.entries()) {
        const pair = { accessToken: `access-${index}`, refreshToken: `refresh-${index}` };
        if (step === 'store') versions.push(await store(user, pair));
        else if (step === 'remove') await remove(user);
        else if (step === 'deleteUser') await deleteUser(gateway, user);
        else {
          const current = (await read(user))?.version;
          if (current !== undefined) versions.push(await refresh(user, current, pair));
        }
      }
      const current = (await read(user))?.version;
      expect(new Set(versions).size).toBe(versions.length);
      for (const version of versions) if (version !== current) await expectConflict(user, version);
      expect((await read(user))?.version).toBe(current);
    }),
    { numRuns: 15, examples: [[['store', 'remove']], [['store', 'deleteUser', 'store']]] },
  );
});

describe('a claim', () => {
  const expectSeconds = (until: string) => expect((Date.parse(until) - Date.now()) / 1000);

  test('is granted for 60 s to one claim ID, which can extend it; others get its end', async () => {
    const version = await store('claimed');
    const { granted, claimedUntil } = await claim('claimed', version, 'mine');
    expect(granted).toBe(true);
    expectSeconds(claimedUntil).toBeGreaterThan(30);
    expectSeconds(claimedUntil).toBeLessThanOrEqual(60.5);
    expect(await claim('claimed', version, 'other')).toEqual({ granted: false, claimedUntil });

    await gateway.database.sql(
      `update editor_credential set claimed_until = now() + interval '1 s' where user_id = 'claimed'`,
    );
    const extended = await claim('claimed', version, 'mine');
    expect(extended.granted).toBe(true);
    expectSeconds(extended.claimedUntil).toBeGreaterThan(30);
  });

  test('of a version that is not current returns CONFLICT, even to the claim ID that holds the claim', async () => {
    const version = await store('old');
    await claim('old', version, 'mine');
    await store('old');
    for (const [other, value] of [
      [version, version],
      ['secret-access-token', '[redacted]'],
    ] as const)
      await expect(claim('old', other, 'mine')).rejects.toMatchObject({
        ...conflict('STALE_VERSION'),
        errors: [{ location: 'input.version', message: 'must be the current version', value }],
      });
  });

  test('returns NOT_FOUND if no credential is stored', async () => {
    const version = await store('gone');
    await remove('gone');
    for (const user of ['never', 'gone'])
      await expect(claim(user, version, 'mine')).rejects.toMatchObject(refused('NOT_FOUND'));
  });
});

describe('audit lines', () => {
  const auditsOf = (user: string) =>
    gateway
      .logLines()
      .map((line) => JSON.parse(line))
      .filter((line) => line.audit !== undefined && line.user === user)
      .map(({ audit, by }) => `${audit} by ${by}`);

  test('name caller and user for every read of a credential, without the tokens', async () => {
    const reader = as(() => signToken({ sub: 'the-reader', scope: 'platform:credentials' }));
    await as('audited').connectEditor(first);
    for (const userId of ['audited', 'not-stored', 'audited']) await reader.run(READ, { userId });

    const reading = 'editor_credential.read by the-reader';
    expect(auditsOf('audited').slice(1)).toEqual([reading, reading]);
    expect(auditsOf('not-stored')).toEqual([reading]);
    expect(gateway.logLines().join('\n')).not.toMatch(/first-access|first-refresh/);
  });

  test('name who changed a credential, deleted its user, or was granted a claim', async () => {
    const version = await store('changed');
    await claim('changed', version, 'my-claim');
    await claim('changed', version, 'other');
    await refresh('changed', version);
    await remove('changed');
    await store('changed');
    for (const _ of ['once', 'again']) await deleteUser(gateway, 'changed');

    const audits = auditsOf('changed').filter((audit) => !audit.startsWith('editor_credential.read'));
    expect(audits).toEqual([
      'editor_credential.stored by changed',
      'editor_credential.claimed by platform-service',
      'editor_credential.refreshed by platform-service',
      'editor_credential.deleted by changed',
      'editor_credential.stored by changed',
      'editor_credential.deleted by platform-service',
      'user.deleted by platform-service',
      'user.deleted by platform-service',
    ]);
    expect(gateway.logLines().join('\n')).not.toContain('my-claim');
  });
});
