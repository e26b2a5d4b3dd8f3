import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Slots } from '../database/statement.ts';
import type { CredentialOwner } from '../encryption/credential-cipher.ts';
import type { Time } from '../values/time.ts';
import type { CredentialFailureReason } from './editor-auth.enums.ts';

/** An encrypted token pair to store. */
export type EncryptedPair = CredentialOwner & { ciphertext: string; keyId: string; now: Time };

/** The user's new revision, which every change returns. */
const newRevision = sql<number>`(select revision from incremented)`.as('revision');

/** The user of the row that {@link selectCurrent} found. */
const ownerOfCurrent = sql<string>`(select ${sql.ref('userId')} from current)`;

/** The columns that are reset when a pair is stored or deleted. */
const reset = { reauthReason: null, claimId: null, claimedUntil: null };

/** Stores a pair, in place of any other. */
export const storePair = defineStatement((db, slots: Slots<EncryptedPair>) => {
  const { slot } = slots;
  return db
    .with('incremented', (db) => incrementRevision(db, slots).returning('editorAuth as revision'))
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
    .returning(['keyId', 'reauthReason', newRevision]);
});

/** Replaces a stored pair with the pair that was refreshed from it. */
export const replacePair = defineStatement((db, slots: Slots<EncryptedPair & { refreshedFrom: string }>) => {
  const { slot } = slots;
  return db
    .with('current', (db) => selectCurrent(db, slots).where('version', '=', slot('refreshedFrom')))
    .with('incremented', (db) => incrementIfStored(db, slots))
    .updateTable('EditorCredential')
    .set({
      version: slot('version'),
      ciphertext: slot('ciphertext'),
      keyId: slot('keyId'),
      refreshedFrom: slot('refreshedFrom'),
      ...reset,
      updatedAt: slot('now'),
    })
    .where('userId', '=', ownerOfCurrent)
    .returning(['version', newRevision]);
});

/** Deletes the stored pair and keeps the row. */
export const clearPair = defineStatement((db, slots: Slots<{ userId: string; now: Time }>) =>
  db
    .with('current', (db) => selectCurrent(db, slots))
    .with('incremented', (db) => incrementIfStored(db, slots))
    .updateTable('EditorCredential')
    .set({ ciphertext: null, keyId: null, refreshedFrom: null, ...reset, updatedAt: slots.slot('now') })
    .where('userId', '=', ownerOfCurrent)
    .returning(newRevision),
);

/** Stores the reason why the pair of a version no longer works, if the version is still current. */
export const recordFailure = defineStatement(
  (db, slots: Slots<CredentialOwner & { reason: CredentialFailureReason; now: Time }>) => {
    const { slot } = slots;
    return db
      .with('current', (db) => selectCurrent(db, slots).where('version', '=', slot('version')))
      .with('incremented', (db) => incrementIfStored(db, slots))
      .updateTable('EditorCredential')
      .set({ reauthReason: slot('reason'), updatedAt: slot('now') })
      .where('userId', '=', ownerOfCurrent)
      .returning(['keyId', 'reauthReason', newRevision]);
  },
);

type UserSlots = Slots<{ userId: string }>;

/** Selects the row of a user who has a stored pair. */
export function selectCurrent(db: Pick<Kysely<Tables>, 'selectFrom'>, { slot }: UserSlots) {
  return db
    .selectFrom('EditorCredential')
    .select('userId')
    .where('userId', '=', slot('userId'))
    .where('ciphertext', 'is not', null);
}

function incrementRevision(db: Pick<Kysely<Tables>, 'updateTable'>, { slot }: UserSlots) {
  return db
    .updateTable('UserRevision')
    .set((eb) => ({ editorAuth: eb('editorAuth', '+', 1) }))
    .where('userId', '=', slot('userId'));
}

function incrementIfStored(db: Pick<Kysely<Tables>, 'updateTable'>, slots: UserSlots) {
  return incrementRevision(db, slots)
    .where(sql<boolean>`exists (select from current)`)
    .returning('editorAuth as revision');
}
