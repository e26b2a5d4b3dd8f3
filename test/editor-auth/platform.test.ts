import { randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conflict } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
import { credentialVersion, deleteUser } from '../support/records.ts';
import { platform, signToken } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

const first = { accessToken: 'first-access', refreshToken: 'first-refresh' };
const second = { accessToken: 'second-access', refreshToken: 'second-refresh' };

const READ =
  'query ($userId: ID!) { editorCredential(userId: $userId) { version accessToken refreshToken needsReauth reauthReason } }';

/** Stores a credential and returns its version. */
async function store(userId: string, pair = first): Promise<string> {
  await as(userId).connectEditor(pair);
  return credentialVersion(gateway, userId);
}

const remove = (userId: string) => as(userId).disconnectEditor();

/** Returns a stored credential, or null. */
async function credential(userId: string) {
  const { editorCredential } = (await as(platform).graphql(READ, { userId })).data;
  if (editorCredential === null) return null;
  const { version, accessToken, refreshToken } = editorCredential;
  return { version, accessToken, refreshToken };
}

const report = (userId: string, version: string, reason = 'TOKEN_EXPIRED') =>
  as(platform).reportEditorFailure({ userId, version, reason });

const refresh = (userId: string, version: string, pair = second) =>
  as(platform).refreshCredential({ userId, version, ...pair });

const expectConflict = (userId: string, version: string) =>
  expect(refresh(userId, version)).rejects.toMatchObject(conflict('STALE_VERSION', 'input.version'));

const readRow = (userId: string) =>
  gateway.database.sql('select * from editor_credential where user_id = $1', [userId]);

test('records a failure of the current version, and returns the new state', async () => {
  const version = await store('failed');
  expect(await report('failed', version, 'REFRESH_FAILED')).toMatchObject({
    applied: true,
    editorAuth: { auth: { type: 'SUBSCRIPTION' }, needsReauth: true, reauthReason: 'REFRESH_FAILED' },
  });
  expect(await credential('failed')).toEqual({ version, ...first });
});

test('returns the failure with the credential until another one is stored', async () => {
  const state = async () => {
    const { needsReauth, reauthReason } = await as(platform).editorCredential({ userId: 'seen' });
    return { needsReauth, reauthReason };
  };
  const version = await store('seen');
  expect(await state()).toEqual({ needsReauth: false, reauthReason: null });
  await report('seen', version, 'TOKEN_REVOKED');
  expect(await state()).toEqual({ needsReauth: true, reauthReason: 'TOKEN_REVOKED' });
  await store('seen');
  expect(await state()).toEqual({ needsReauth: false, reauthReason: null });
});

test('a later report replaces the reason', async () => {
  const version = await store('twice');
  await report('twice', version, 'REFRESH_FAILED');
  expect(await report('twice', version, 'TOKEN_REVOKED')).toMatchObject({
    applied: true,
    editorAuth: { reauthReason: 'TOKEN_REVOKED' },
  });
});

test.each<[what: string, other: string | undefined]>([
  ['an earlier version', undefined],
  ['an unknown version', randomUUIDv7()],
])('ignores the failure of %s, and returns applied: false', async (what, other) => {
  const earlier = await store(what);
  await store(what, second);
  const before = await readRow(what);

  expect(await report(what, other ?? earlier)).toMatchObject({
    applied: false,
    editorAuth: { auth: { type: 'SUBSCRIPTION' }, needsReauth: false, reauthReason: null },
  });
  expect(await readRow(what)).toEqual(before);
});

test('ignores a failure if no credential is stored', async () => {
  const nothing = {
    applied: false,
    editorAuth: { auth: { type: 'NONE' }, needsReauth: false, reauthReason: null },
  };
  expect(await report('never', randomUUIDv7())).toMatchObject(nothing);
  const version = await store('deleted');
  await remove('deleted');
  expect(await report('deleted', version)).toMatchObject(nothing);
});

test('a refresh creates a new version and clears needs_reauth', async () => {
  const version = await store('refreshed');
  await report('refreshed', version);

  const next = await refresh('refreshed', version);

  expect(next).not.toBe(version);
  expect(await credential('refreshed')).toEqual({ version: next, ...second });
  const { body } = await as('refreshed').rest.get('/editor/auth');
  expect(body).toStrictEqual({ auth: { type: 'subscription' }, needs_reauth: false });
});

const third = { accessToken: 'third-access', refreshToken: 'third-refresh' };

test('returns CONFLICT for a refresh of a version that is not current, and changes nothing', async () => {
  const version = await store('stale');
  await refresh('stale', version, third);
  const before = await readRow('stale');
  await expectConflict('stale', version);
  await expectConflict('stale', randomUUIDv7());
  expect(await readRow('stale')).toEqual(before);
});

test('a repeated refresh returns the version that the first one created, and changes nothing', async () => {
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
  ['deleted', (user) => remove(user)],
])('returns CONFLICT for a repeated refresh after the credential was %s', async (user, change) => {
  const version = await store(user);
  await change(user, await refresh(user, version));
  await expectConflict(user, version);
});

test('returns CONFLICT for the current tokens sent as a refresh of another version', async () => {
  const version = await store('other');
  await store('other', second);
  await expectConflict('other', version);
  await expectConflict('other', randomUUIDv7());
});

test('a refresh never restores a deleted credential', async () => {
  const version = await store('deleted');
  await remove('deleted');
  await expectConflict('deleted', version);
  await expectConflict('never-stored', version);
  expect(await credential('deleted')).toBeNull();
});

test('a refresh from before the user was deleted does not replace the credential stored since', async () => {
  const version = await store('back');
  await deleteUser(gateway, 'back');
  const next = await store('back', third);
  expect(next).not.toBe(version);
  await expectConflict('back', version);
  expect(await credential('back')).toEqual({ version: next, ...third });
});

type Step = 'store' | 'refresh' | 'remove' | 'deleteUser';

test('versions never repeat over any sequence of changes, and only the current one is accepted', async () => {
  let runs = 0;
  const steps = fc.array(fc.constantFrom<Step>('store', 'refresh', 'remove', 'deleteUser'), {
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const user = `sequence-${++runs}`;
      const versions: string[] = [];
      for (const [index, step] of sequence.entries()) {
        const pair = { accessToken: `access-${index}`, refreshToken: `refresh-${index}` };
        if (step === 'store') versions.push(await store(user, pair));
        else if (step === 'remove') await remove(user);
        else if (step === 'deleteUser') await deleteUser(gateway, user);
        else {
          const current = (await credential(user))?.version;
          if (current !== undefined) versions.push(await refresh(user, current, pair));
        }
      }
      const current = (await credential(user))?.version;
      expect(new Set(versions).size).toBe(versions.length);
      for (const version of versions) if (version !== current) await expectConflict(user, version);
    }),
    { numRuns: 15 },
  );
});

test('stores exactly one of several concurrent refreshes of a version; the others return CONFLICT', async () => {
  const version = await store('race');
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) =>
      refresh('race', version, { accessToken: `a-${n}`, refreshToken: `r-${n}` }),
    ),
  );

  const winners = outcomes.flatMap((outcome, n) =>
    outcome.status === 'fulfilled'
      ? [{ version: outcome.value, accessToken: `a-${n}`, refreshToken: `r-${n}` }]
      : [],
  );
  expect(winners).toEqual([await credential('race')]);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(conflict('STALE_VERSION'));
});

test('writes an audit line with caller and user for every read of a credential, without the tokens', async () => {
  await store('audited');
  const reader = as(() => signToken({ sub: 'the-reader', scope: 'platform:credentials' }));
  const auditLines = () =>
    gateway
      .logLines()
      .filter((line) => line.includes('editor_credential.read') && line.includes('the-reader'));

  for (const userId of ['audited', 'not-stored', 'audited']) {
    expect((await reader.graphql(READ, { userId })).errors).toEqual([]);
  }

  expect(auditLines().map((line) => JSON.parse(line))).toMatchObject(
    ['audited', 'not-stored', 'audited'].map((user) => ({ by: 'the-reader', user })),
  );
  expect(auditLines().join('\n')).not.toMatch(/first-access|first-refresh/);
});

test('writes audit lines for changes of a credential and for deleting its user', async () => {
  await refresh('changed', await store('changed'));
  await remove('changed');
  await store('changed');
  await deleteUser(gateway, 'changed');
  await deleteUser(gateway, 'changed');
  const audits = gateway
    .logLines()
    .map((line) => JSON.parse(line))
    .filter(
      ({ audit, user }) => audit !== undefined && user === 'changed' && audit !== 'editor_credential.read',
    )
    .map(({ audit, by }) => ({ audit, by }));
  expect(audits).toEqual([
    { audit: 'editor_credential.stored', by: 'changed' },
    { audit: 'editor_credential.refreshed', by: 'platform-service' },
    { audit: 'editor_credential.deleted', by: 'changed' },
    { audit: 'editor_credential.stored', by: 'changed' },
    { audit: 'editor_credential.deleted', by: 'platform-service' },
    { audit: 'user.deleted', by: 'platform-service' },
    { audit: 'user.deleted', by: 'platform-service' },
  ]);
});
