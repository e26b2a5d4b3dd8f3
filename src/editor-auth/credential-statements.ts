import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { type Slots, statement } from '../database/statement.ts';
import type { CredentialOwner } from '../encryption/credential-cipher.ts';
import type { Time } from '../values/time.ts';
import type { FailureReason } from './editor-auth.enums.ts';

/** A pair as it is written. */
export type Encrypted = CredentialOwner & { ciphertext: string; keyId: string; now: Time };

/** Every statement returns the revision that its change reached. */
const reached = sql<number>`(select reached from raised)`.as('reached');

/** What a new or deleted pair never keeps of the one before. */
const reset = { reauthReason: null, claimId: null, claimedUntil: null };

/** Stores a pair, whatever was stored before. */
export const store = statement((db, slots: Slots<Encrypted>) => {
  const { slot } = slots;
  return db
    .with('raised', (db) => raise(db, slots).returning('editorAuth as reached'))
    .insertInto('EditorCredential')
    .values({
      userId: slot('userId'),
      version: slot('version'),
      ciphertext: slot('ciphertext'),
      keyId: slot('keyId'),
      refreshedFrom: null,
      ...reset,
      createdAt: slot('now'),
      updatedAt: slot('now'),
    })
    .onConflict((conflict) =>
      conflict.column('userId').doUpdateSet((eb) => ({
        version: eb.ref('excluded.version'),
        ciphertext: eb.ref('excluded.ciphertext'),
        keyId: eb.ref('excluded.keyId'),
        refreshedFrom: null,
        ...reset,
        updatedAt: eb.ref('excluded.updatedAt'),
      })),
    )
    .returning(['keyId', 'reauthReason', reached]);
});

/** Stores a pair in place of the one that it was refreshed from. */
export const refresh = statement((db, slots: Slots<Encrypted & { refreshed: string }>) => {
  const { slot } = slots;
  return db
    .with('current', (db) => current(db, slots).where('version', '=', slot('refreshed')))
    .with('raised', (db) => raiseIfCurrent(db, slots))
    .updateTable('EditorCredential')
    .set({
      version: slot('version'),
      ciphertext: slot('ciphertext'),
      keyId: slot('keyId'),
      refreshedFrom: slot('refreshed'),
      ...reset,
      updatedAt: slot('now'),
    })
    .where('userId', '=', sql<string>`(select user_id from current)`)
    .returning(['version', reached]);
});

/** Removes the stored pair. */
export const wipe = statement((db, slots: Slots<{ userId: string; now: Time }>) =>
  db
    .with('current', (db) => current(db, slots))
    .with('raised', (db) => raiseIfCurrent(db, slots))
    .updateTable('EditorCredential')
    .set({ ciphertext: null, keyId: null, refreshedFrom: null, ...reset, updatedAt: slots.slot('now') })
    .where('userId', '=', sql<string>`(select user_id from current)`)
    .returning(reached),
);

/** Notes why the pair of a version no longer works. */
export const report = statement(
  (db, slots: Slots<CredentialOwner & { reason: FailureReason; now: Time }>) => {
    const { slot } = slots;
    return db
      .with('current', (db) => current(db, slots).where('version', '=', slot('version')))
      .with('raised', (db) => raiseIfCurrent(db, slots))
      .updateTable('EditorCredential')
      .set({ reauthReason: slot('reason'), updatedAt: slot('now') })
      .where('userId', '=', sql<string>`(select user_id from current)`)
      .returning(['keyId', 'reauthReason', reached]);
  },
);

/** How long a claim lasts: longer than a provider takes to refresh a pair. */
export const CLAIM_SECONDS = 60;

/**
 * Gives the caller the right to refresh a version, unless another caller has it. Returns no row if nothing is stored,
 * and a null `claimedUntil` if the version is no longer current. All gateways go by the database's clock.
 */
export const claim = statement((db, slots: Slots<CredentialOwner & { claimId: string }>) => {
  const { slot } = slots;
  return db
    .with('stored', (db) =>
      current(db, slots)
        .select(['claimId', 'claimedUntil', sql<Time>`clock_timestamp()`.as('now')])
        .select((eb) => eb('version', '=', slot('version')).as('matches')),
    )
    .with('claimed', (db) =>
      db
        .updateTable('EditorCredential')
        .from('stored')
        .set({
          claimId: slot('claimId'),
          claimedUntil: sql<Time>`stored.now + make_interval(secs => ${sql.lit(CLAIM_SECONDS)})`,
        })
        .whereRef('EditorCredential.userId', '=', 'stored.userId')
        .where('stored.matches', '=', true)
        .where(({ or, eb, ref }) =>
          or([
            eb('stored.claimedUntil', 'is', null),
            eb('stored.claimedUntil', '<=', ref('stored.now')),
            eb('stored.claimId', '=', slot('claimId')),
          ]),
        )
        .returning('EditorCredential.claimedUntil as until'),
    )
    .selectFrom('stored')
    .leftJoin('claimed', (join) => join.onTrue())
    .select([
      sql<boolean>`until is not null`.as('granted'),
      sql<Time | null>`case when matches then coalesce(until, claimed_until) end`.as('claimedUntil'),
    ]);
});

type OfUser = Slots<{ userId: string }>;

/** The row of a stored pair, if there is one. */
function current(db: Pick<Kysely<Tables>, 'selectFrom'>, { slot }: OfUser) {
  return db
    .selectFrom('EditorCredential')
    .select('userId')
    .where('userId', '=', slot('userId'))
    .where('ciphertext', 'is not', null);
}

function raise(db: Pick<Kysely<Tables>, 'updateTable'>, { slot }: OfUser) {
  return db
    .updateTable('UserRevision')
    .set((eb) => ({ editorAuth: eb('editorAuth', '+', 1) }))
    .where('userId', '=', slot('userId'));
}

function raiseIfCurrent(db: Pick<Kysely<Tables>, 'updateTable'>, slots: OfUser) {
  return raise(db, slots)
    .where(sql<boolean>`exists (select from current)`)
    .returning('editorAuth as reached');
}
