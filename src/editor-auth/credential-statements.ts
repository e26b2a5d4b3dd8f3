import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import type { CredentialOwner } from '../encryption/bound-cipher.ts';
import { insertPlatformEvents } from '../platform-events/insert-events.ts';
import { credentialEventTypes } from '../platform-events/platform-event.enums.ts';
import type { Time } from '../values/time.ts';
import type { CredentialFailureReason } from './editor-auth.enums.ts';

/** An encrypted token pair to store. */
export type EncryptedPair = CredentialOwner & {
  ciphertext: string;
  keyId: string;
  expiresAt: Time | null;
  now: Time;
};

/** What every change of a credential needs. */
type Change = { userId: string; now: Time };

/** The user's new revision, which every change returns. */
const newRevision = sql<number>`(select revision from incremented)`.as('revision');

/** The user of the row that {@link selectCurrent} found. */
const ownerOfCurrent = sql<string>`(select ${sql.ref('userId')} from current)`;

/** The columns that are reset when a pair is stored or deleted. */
const reset = { reauthReason: null, claimId: null, claimedUntil: null };

/** Stores a pair, in place of any other. */
export const storePair = defineStatement((db, params: Params<EncryptedPair & Change>) => {
  const { param } = params;
  return db
    .with('incremented', (db) => incrementRevision(db, params).returning('editorAuth as revision'))
    .with('event', (db) => insertEvent(db, params, 'stored', param('version')))
    .insertInto('EditorCredential')
    .values({
      userId: param('userId'),
      version: param('version'),
      ciphertext: param('ciphertext'),
      keyId: param('keyId'),
      expiresAt: param('expiresAt'),
      refreshedFrom: null,
      ...reset,
      createdAt: param('now'),
      updatedAt: param('now'),
    })
    .onConflict((conflict) =>
      conflict.column('userId').doUpdateSet((eb) => ({
        version: eb.ref('excluded.version'),
        ciphertext: eb.ref('excluded.ciphertext'),
        keyId: eb.ref('excluded.keyId'),
        expiresAt: eb.ref('excluded.expiresAt'),
        refreshedFrom: null,
        ...reset,
        updatedAt: eb.ref('excluded.updatedAt'),
      })),
    )
    .returning(['keyId', 'reauthReason', newRevision]);
});

/** Replaces a stored pair with the pair that was refreshed from it. */
export const replacePair = defineStatement(
  (db, params: Params<EncryptedPair & Change & { refreshedFrom: string }>) => {
    const { param } = params;
    return db
      .with('current', (db) => selectCurrent(db, params).where('version', '=', param('refreshedFrom')))
      .with('incremented', (db) => incrementIfStored(db, params))
      .with('event', (db) => insertEvent(db, params, 'refreshed', param('version'), sql`from current`))
      .updateTable('EditorCredential')
      .set({
        version: param('version'),
        ciphertext: param('ciphertext'),
        keyId: param('keyId'),
        expiresAt: param('expiresAt'),
        refreshedFrom: param('refreshedFrom'),
        ...reset,
        updatedAt: param('now'),
      })
      .where('userId', '=', ownerOfCurrent)
      .returning(['version', newRevision]);
  },
);

/** Deletes the stored pair and keeps the row. */
export const clearPair = defineStatement((db, params: Params<Change>) =>
  db
    .with('current', (db) => selectCurrent(db, params).select('version'))
    .with('incremented', (db) => incrementIfStored(db, params))
    .with('event', (db) => insertEvent(db, params, 'deleted', sql`version`, sql`from current`))
    .updateTable('EditorCredential')
    .set({
      ciphertext: null,
      keyId: null,
      expiresAt: null,
      refreshedFrom: null,
      ...reset,
      updatedAt: params.param('now'),
    })
    .where('userId', '=', ownerOfCurrent)
    .returning(newRevision),
);

/** Stores the reason why the pair of a version no longer works, if the version is still current. */
export const recordFailure = defineStatement(
  (db, params: Params<CredentialOwner & Change & { reason: CredentialFailureReason }>) => {
    const { param } = params;
    return db
      .with('current', (db) =>
        selectCurrent(db, params).select('reauthReason').where('version', '=', param('version')),
      )
      .with('incremented', (db) => incrementIfStored(db, params))
      .with('event', (db) =>
        // A second report of the same pair changes at most the reason.
        insertEvent(
          db,
          params,
          'needsReauth',
          param('version'),
          sql`from (select from current where ${sql.ref('reauthReason')} is null) as working`,
        ),
      )
      .updateTable('EditorCredential')
      .set({ reauthReason: param('reason'), updatedAt: param('now') })
      .where('userId', '=', ownerOfCurrent)
      .returning(['keyId', 'reauthReason', newRevision]);
  },
);

/** Inserts a platform event for each row of `source`, a `from` clause; one if it is omitted. */
function insertEvent(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  { param }: Params<Change>,
  change: keyof typeof credentialEventTypes,
  credentialVersion: RawBuilder<string>,
  source = sql``,
) {
  const type = sql.lit(credentialEventTypes[change]);
  const columns = { type, userId: param('userId'), credentialVersion, at: param('now', 'timestamptz') };
  return insertPlatformEvents(db, columns, source);
}

type UserParams = Params<{ userId: string }>;

/** Selects the row of a user who has a stored pair. */
export function selectCurrent(db: Pick<Kysely<Tables>, 'selectFrom'>, { param }: UserParams) {
  return db
    .selectFrom('EditorCredential')
    .select('userId')
    .where('userId', '=', param('userId'))
    .where('ciphertext', 'is not', null);
}

function incrementRevision(db: Pick<Kysely<Tables>, 'updateTable'>, { param }: UserParams) {
  return db
    .updateTable('UserRevision')
    .set((eb) => ({ editorAuth: eb('editorAuth', '+', 1) }))
    .where('userId', '=', param('userId'));
}

function incrementIfStored(db: Pick<Kysely<Tables>, 'updateTable'>, params: UserParams) {
  return incrementRevision(db, params)
    .where(sql<boolean>`exists (select from current)`)
    .returning('editorAuth as revision');
}
