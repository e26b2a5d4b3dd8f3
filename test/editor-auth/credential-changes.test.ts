import { createSecretKey, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import {
  type CredentialChange,
  type CredentialState,
  claim,
  clear,
  fail,
  noCredential,
  refresh,
  store,
} from '../../src/editor-auth/credential-changes.ts';
import { reportFailure, storeCredential } from '../../src/editor-auth/editor-auth.ts';
import { readCredential } from '../../src/editor-auth/read-credentials.ts';
import { claimRefresh, storeRefreshedCredential } from '../../src/editor-auth/refresh-credential.ts';
import { createCredentialCipher } from '../../src/encryption/bound-cipher.ts';
import type { Change } from '../../src/live/hub.ts';
import { Secret } from '../../src/values/secret.ts';
import { addMilliseconds, type Time } from '../../src/values/time.ts';
import { openTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const NOW: Time = '2026-01-31T09:30:00.000Z';
const after = (seconds: number) => addMilliseconds(NOW, seconds * 1000);
const pairOf = (version: string) => ({ version, ciphertext: `of ${version}`, keyId: 'key', expiresAt: null });

const none = noCredential;
const connected: CredentialState = { ...none, version: 'v1', keyId: 'key' };
const failed: CredentialState = { ...connected, reauthReason: 'token_expired' };
const claimed: CredentialState = { ...connected, claimId: 'a', claimedUntil: after(10) };
const cleared: CredentialState = { ...none, version: 'v1' };

const reset = { reauthReason: null, claimId: null, claimedUntil: null };
const noPair = { ciphertext: null, keyId: null, expiresAt: null, refreshedFrom: null };
const until = (seconds: number) => ({ claimedUntil: after(seconds) });

const stores = (state: CredentialState): Row => ['store', state, () => store(pairOf('v2')), stored];
const stored = {
  columns: { ...pairOf('v2'), refreshedFrom: null, ...reset },
  event: 'editor_credential.stored',
};
const refreshes = (state: CredentialState, expected?: object, refreshedFrom = 'v1'): Row => [
  'refresh',
  state,
  () => refresh(state, { ...pairOf('v2'), refreshedFrom }),
  expected,
];
const refreshed = {
  columns: { ...pairOf('v2'), refreshedFrom: 'v1', ...reset },
  event: 'editor_credential.refreshed',
};
const claims = (
  state: CredentialState,
  claimId: string,
  at: Time,
  expected?: object,
  version = 'v1',
): Row => [
  'claim',
  state,
  () => claim(state, { version, claimId }, at),
  expected && { columns: { claimId, ...expected }, isClaim: true },
];
const fails = (state: CredentialState, expected?: object, version = 'v1'): Row => [
  'fail',
  state,
  () => fail(state, { version, reason: 'token_revoked' }),
  expected && { columns: { reauthReason: 'token_revoked' }, ...expected },
];
const clears = (state: CredentialState, expected?: object): Row => [
  'clear',
  state,
  () => clear(state),
  expected,
];
const deleted = { columns: { ...noPair, ...reset }, event: 'editor_credential.deleted' };
type Row = [
  rule: string,
  state: CredentialState,
  decide: () => CredentialChange | undefined,
  expected: unknown,
];

test.each<Row>([
  ...[none, connected, failed, claimed, cleared].map(stores),
  ...[connected, failed, claimed].map((state) => refreshes(state, refreshed)),
  ...[none, cleared].map((state) => refreshes(state)),
  refreshes(connected, undefined, 'v0'),
  refreshes(none, undefined, none.version),
  ...[connected, failed].map((state) => claims(state, 'b', NOW, until(60))),
  claims(claimed, 'a', after(9), until(69)),
  claims(claimed, 'b', after(9.999)),
  claims(claimed, 'b', after(10), until(70)),
  claims(claimed, 'a', NOW, undefined, 'v0'),
  ...[none, cleared].map((state) => claims(state, 'a', NOW)),
  fails(connected, { event: 'editor_credential.needs_reauth' }),
  fails(claimed, { event: 'editor_credential.needs_reauth' }),
  fails(failed, { event: undefined }),
  fails(connected, undefined, 'v0'),
  ...[none, cleared].map((state) => fails(state)),
  ...[connected, failed, claimed].map((state) => clears(state, deleted)),
  ...[none, cleared].map((state) => clears(state)),
])('%s of %o', (_rule, _state, decide, expected) => {
  expect(decide()).toStrictEqual(expected);
});

describe('two gateways on one database', () => {
  const cipher = createCredentialCipher(new Map([['key', createSecretKey(randomBytes(32))]]));
  let database: TestDatabase;
  let [first, second]: (Database | undefined)[] = [];
  let locker: pg.Client;
  let close: () => Promise<void>;
  const announced: (Change | readonly Change[])[] = [];
  beforeAll(async () => {
    ({ database, opened: first, locker, close } = await openTestDatabase(3));
    second = await openDatabase({ url: database.url, poolSize: 3, timeoutMs: 5000 });
  });
  afterAll(async () => {
    await second?.close();
    await close();
  });

  const on = (index: number) => ({
    database: (index % 2 === 0 ? first : second) ?? expect.unreachable(),
    announce: (change: Change | readonly Change[]) => void announced.push(change),
  });
  const newPair = (name: string) => ({
    accessToken: new Secret(name),
    refreshToken: new Secret(name),
    expiresAt: null,
  });
  const read = async (userId: string) => {
    const found = await readCredential(on(0).database, cipher, userId);
    return [found?.version, found?.accessToken.reveal(), found?.refreshToken?.reveal()];
  };
  /** Stores a first pair, and returns its version. */
  const connect = async (userId: string) => {
    await storeCredential(on(0), cipher, userId, newPair('first'));
    return String((await read(userId))[0]);
  };
  const revisionOf = async (userId: string) => {
    const select = 'select editor_auth::int as revision from user_revision where user_id = $1';
    return (await database.sql(select, [userId]))[0]?.revision;
  };
  const eventsOf = async (userId: string) =>
    (await database.sql('select type from platform_event where user_id = $1 order by id', [userId])).map(
      ({ type }) => String(type).replace('editor_credential.', ''),
    );

  /** Starts changes one after another, which read, decide, and wait for `meanwhile` to be committed. */
  async function race(
    userId: string,
    changes: readonly (() => Promise<unknown>)[],
    meanwhile = 'select from user_revision where user_id = $1 for update',
  ) {
    await locker.query('begin');
    await locker.query(meanwhile, [userId]);
    const started: Promise<unknown>[] = [];
    for (const change of changes) {
      started.push(change());
      const expected = Math.min(started.length, 2);
      await eventually(async () => expect(await waitingSessions(database)).toBe(expected));
    }
    const results = Promise.allSettled(started);
    await locker.query('commit');
    return results;
  }

  test('grants one of 12 claims at once, and announces none', async () => {
    const userId = 'claimed at once';
    const version = await connect(userId);
    const before = [await revisionOf(userId), announced.length];
    const granted: boolean[] = [];
    const ends = new Set<Time>();
    const claims = Array.from({ length: 12 }, (_none, index) => async () => {
      const claim = await claimRefresh(on(index), cipher, { userId, version, claimId: `claim-${index}` });
      granted.push(claim.granted);
      ends.add(claim.claimedUntil);
    });
    await race(userId, claims);

    expect(granted.toSorted()).toEqual([...Array(11).fill(false), true]);
    expect(ends.size).toBe(1);
    // Live streams see nothing of a claim.
    expect([await revisionOf(userId), announced.length]).toEqual(before);
  });

  test('a refresh that a store precedes fails, and a store replaces the refresh that precedes it', async () => {
    const change = (userId: string, version: string) => [
      () => storeCredential(on(0), cipher, userId, newPair('by the user')),
      () => storeRefreshedCredential(on(1), cipher, { userId, version, ...newPair('refreshed') }),
    ];
    const [, failed] = await race('preceding', change('preceding', await connect('preceding')));
    const replaced = await race('following', change('following', await connect('following')).toReversed());

    expect(failed).toMatchObject({ reason: { reason: 'STALE_VERSION' } });
    expect(replaced.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    for (const [userId, events] of [
      ['preceding', ['stored', 'stored']],
      ['following', ['stored', 'refreshed', 'stored']],
    ] as const) {
      expect(await read(userId)).toEqual([expect.any(String), 'by the user', 'by the user']);
      expect(await eventsOf(userId)).toEqual(events);
      expect(await revisionOf(userId)).toBe(events.length);
    }
  });

  test('a claim and a report keep the ciphertext of a key rotation at the same time', async () => {
    const meanwhile = `update editor_credential set ciphertext = 'rotated', key_id = 'new' where user_id = $1`;
    const claim = { userId: 'claimed', version: await connect('claimed'), claimId: 'mine' };
    await race('claimed', [() => claimRefresh(on(0), cipher, claim)], meanwhile);
    const failure = {
      userId: 'reported',
      version: await connect('reported'),
      reason: 'token_revoked',
    } as const;
    await race('reported', [() => reportFailure(on(0), cipher, failure)], meanwhile);

    const rows = await database.sql(
      `select user_id, ciphertext, key_id, claim_id, reauth_reason from editor_credential
       where user_id in ('claimed', 'reported') order by user_id`,
    );
    const rotated = { ciphertext: 'rotated', key_id: 'new' };
    expect(rows).toEqual([
      { user_id: 'claimed', ...rotated, claim_id: 'mine', reauth_reason: null },
      { user_id: 'reported', ...rotated, claim_id: null, reauth_reason: 'token_revoked' },
    ]);
  });

  test.each([
    [
      'is deleted',
      'none',
      `with credential as (delete from editor_credential where user_id = $1)
       delete from user_revision where user_id = $1`,
    ],
    [
      'is deleted and stores another pair',
      'subscription',
      `with credential as (update editor_credential set version = 'other' where user_id = $1)
       update user_revision set epoch = gen_random_uuid() where user_id = $1`,
    ],
  ])('a refresh and a report change nothing of a user who meanwhile %s', async (userId, type, meanwhile) => {
    const version = await connect(userId);
    const [refreshed, reported] = await race(
      userId,
      [
        () => storeRefreshedCredential(on(0), cipher, { userId, version, ...newPair('refreshed') }),
        () => reportFailure(on(1), cipher, { userId, version, reason: 'token_revoked' }),
      ],
      meanwhile,
    );
    expect(refreshed).toMatchObject({ reason: { reason: 'STALE_VERSION' } });
    expect(reported).toMatchObject({ value: { applied: false, editorAuth: { type, needsReauth: false } } });
    expect(await eventsOf(userId)).toEqual(['stored']);
    const rows = await database.sql('select version from editor_credential where user_id = $1', [userId]);
    expect(rows).toEqual(type === 'none' ? [] : [{ version: 'other' }]);
  });
});
