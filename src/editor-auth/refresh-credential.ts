import { hash, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import type { CredentialCipher, CredentialOwner, TokenPair } from '../encryption/bound-cipher.ts';
import { ConflictError, NotFoundError, REDACTED } from '../errors/gateway-errors.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import type { Time } from '../values/time.ts';
import { replacePair, selectCurrent } from './credential-statements.ts';
import { encryptPair, findCredential, type NewPair } from './editor-auth.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** The duration of a claim, longer than a provider takes to refresh a pair. */
export const CLAIM_SECONDS = 60;

/**
 * The result of a claim. `claimedUntil` is the end of the caller's claim if `granted`, otherwise the end of another
 * caller's claim.
 */
export type RefreshClaim = { granted: boolean; claimedUntil: Time };

/**
 * Claims the refresh of a version for `CLAIM_SECONDS`, unless another caller has claimed it. The caller then asks the
 * provider for a new pair. The same `claimId` renews the claim. Storing or deleting a pair ends it.
 * @throws {NotFoundError} if no pair is stored
 * @throws {ConflictError} if `version` is no longer current, or its pair has no refresh token
 */
export async function claimRefresh(
  database: Database,
  cipher: CredentialCipher,
  { userId, version, claimId }: CredentialOwner & { claimId: string },
): Promise<RefreshClaim> {
  // The pair of a version never changes, so it can be read before the claim.
  const found = await findCredential(database, { userId });
  const pair = found?.version === version ? await tryDecrypt(cipher, found) : undefined;
  if (pair?.refreshToken === null) throw createNotRefreshableError(version);
  const [stored] = await transaction(database, [userId], (run) =>
    run(tryClaim, { userId, version, claimId }),
  );
  if (stored === undefined) throw new NotFoundError();
  const { granted, claimedUntil } = stored;
  if (claimedUntil === null) throw createStaleVersionError(version);
  return { granted, claimedUntil };
}

/**
 * Claims the refresh of a version, unless another caller has claimed it. Returns no row if nothing is stored, and a
 * null `claimedUntil` if the version is no longer current. Uses the database's clock, which all gateways share.
 */
const tryClaim = defineStatement((db, params: Params<CredentialOwner & { claimId: string }>) => {
  const { param } = params;
  return db
    .with('stored', (db) =>
      selectCurrent(db, params)
        .select(['claimId', 'claimedUntil', sql<Time>`clock_timestamp()`.as('now')])
        .select((eb) => eb('version', '=', param('version')).as('matches')),
    )
    .with('claimed', (db) =>
      db
        .updateTable('EditorCredential')
        .from('stored')
        .set({
          claimId: param('claimId'),
          claimedUntil: sql<Time>`stored.now + make_interval(secs => ${sql.lit(CLAIM_SECONDS)})`,
        })
        .whereRef('EditorCredential.userId', '=', 'stored.userId')
        .where('stored.matches', '=', true)
        .where(({ or, eb, ref }) =>
          or([
            eb('stored.claimedUntil', 'is', null),
            eb('stored.claimedUntil', '<=', ref('stored.now')),
            eb('stored.claimId', '=', param('claimId')),
          ]),
        )
        .returning('EditorCredential.claimedUntil as until'),
    )
    .selectFrom('stored')
    .leftJoin('claimed', (join) => join.onTrue())
    .select([
      sql<boolean>`until is not null`.as('granted'),
      sql<Time | null>`case when matches then coalesce(until, ${sql.ref('claimedUntil')}) end`.as(
        'claimedUntil',
      ),
    ]);
});

/**
 * Stores a refreshed pair if `version` is still current, and returns the new version. A retry of the same refresh
 * returns the version that it stored.
 * @throws {ConflictError} if `version` is no longer current, or nothing is stored
 */
export async function storeRefreshedCredential(
  { database, announce }: ChangeDependencies,
  cipher: CredentialCipher,
  { userId, version: refreshedFrom, ...pair }: CredentialOwner & NewPair,
  now: Time,
): Promise<string> {
  const encrypted = await encryptPair(cipher, userId, pair, now);
  const [stored] = await transaction(database, [userId], (run) =>
    run(replacePair, { ...encrypted, refreshedFrom }),
  );
  if (stored !== undefined) {
    announce({ user: userId, topic: 'editorAuth', revision: stored.revision });
    return stored.version;
  }
  const current = await findCredential(database, { userId });
  if (current?.refreshedFrom === refreshedFrom && (await matchesPair(cipher, current, pair)))
    return current.version;
  throw createStaleVersionError(refreshedFrom);
}

/** Whether the stored pair equals another; `false` if it cannot be decrypted. */
async function matchesPair(
  cipher: CredentialCipher,
  stored: EditorCredential,
  pair: TokenPair,
): Promise<boolean> {
  const found = await tryDecrypt(cipher, stored);
  return found !== undefined && timingSafeEqual(digest(found), digest(pair));
}

/** Decrypts a stored pair; `undefined` if there is none or it cannot be decrypted. */
async function tryDecrypt(
  cipher: CredentialCipher,
  stored: EditorCredential | undefined,
): Promise<TokenPair | undefined> {
  if (stored === undefined || stored.ciphertext === null) return undefined;
  return cipher.decrypt(stored.ciphertext, stored).catch(() => undefined);
}

/** Hashes a pair, because a comparison in constant time requires equal lengths. */
function digest({ accessToken, refreshToken }: TokenPair): Buffer {
  return hash('sha256', JSON.stringify([accessToken.reveal(), refreshToken?.reveal()]), 'buffer');
}

function createNotRefreshableError(value: string): ConflictError {
  const message = 'must be the version of a pair with a refresh token';
  const issue = { path: ['input', 'version'], message, value };
  return new ConflictError('NOT_REFRESHABLE', 'The token pair has no refresh token.', [issue]);
}

/** The error repeats the value only if it looks like a version, because it may be a misplaced token. */
function createStaleVersionError(version: string): ConflictError {
  const value = /^([\da-f-]{36}|\d{1,10})$/.test(version) ? version : REDACTED;
  const issue = { path: ['input', 'version'], message: 'must be the current version', value };
  return new ConflictError('STALE_VERSION', 'The version is not current. Read the credential again.', [
    issue,
  ]);
}
