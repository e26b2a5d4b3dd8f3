import type { PlatformEventType } from '../platform-events/platform-event.enums.ts';
import { addMilliseconds, type Time } from '../values/time.ts';
import type { CredentialFailureReason } from './editor-auth.enums.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/*
 * What happens to a user's credential, as pure functions of what is stored, of what is given, and of the time.
 *
 *   state          key ID   reason   entered by        left by
 *   none           -        -        clear             store
 *   connected      set      -        store, refresh    fail, clear
 *   needs reauth   set      set      fail              store, refresh, clear
 *   and claimed    set      any      claim             store, refresh, clear, the time, a claim by the same ID renews it
 *
 * - A pair has a version. `store` replaces any pair, `refresh` that of the version from which the new one comes. `fail` and
 *   `claim` apply to the current version. A version that was replaced or cleared never comes back.
 * - A claim is the right of one caller to refresh the version. It lasts `CLAIM_SECONDS`, and a failure does not end it.
 * - Clients see no claims, so they change neither the user's revision nor `updatedAt`.
 */

/** What rules know of a credential: everything but the pair. Without a key ID, no pair is stored. */
export const stateProperties = ['version', 'keyId', 'reauthReason', 'claimId', 'claimedUntil'] as const;

/** A credential as rules know it. */
export type CredentialState = Pick<EditorCredential, (typeof stateProperties)[number]>;

/** The state of a user who has never stored a pair. */
export const noCredential: CredentialState = {
  version: '',
  keyId: null,
  reauthReason: null,
  claimId: null,
  claimedUntil: null,
};

/** An encrypted token pair to store. */
export type EncryptedPair = Pick<EditorCredential, 'version' | 'ciphertext' | 'keyId' | 'expiresAt'>;

/** The columns that change, the type of the platform event, and whether the change is only a claim. */
export type CredentialChange = {
  columns: Partial<CredentialState & EncryptedPair & Pick<EditorCredential, 'refreshedFrom'>>;
  event?: PlatformEventType | undefined;
  isClaim?: boolean;
};

/** The duration of a claim, longer than a provider takes to refresh a pair. */
export const CLAIM_SECONDS = 60;

const reset = { reauthReason: null, claimId: null, claimedUntil: null };

const isCurrent = ({ keyId, version }: CredentialState, given: string): boolean =>
  keyId !== null && version === given;

/** Stores a pair, in place of any other. */
export const store = (pair: EncryptedPair): CredentialChange => ({
  columns: { ...pair, refreshedFrom: null, ...reset },
  event: 'editor_credential.stored',
});

/** Replaces the pair of a version with the pair that was refreshed from it; `undefined` if the version is not current. */
export function refresh(
  state: CredentialState,
  { refreshedFrom, ...pair }: EncryptedPair & { refreshedFrom: string },
): CredentialChange | undefined {
  if (!isCurrent(state, refreshedFrom)) return undefined;
  return { columns: { ...pair, refreshedFrom, ...reset }, event: 'editor_credential.refreshed' };
}

/** Claims the refresh of a version, or renews the claim; `undefined` if it is not current, or claimed by another ID. */
export function claim(
  state: CredentialState,
  { version, claimId }: { version: string; claimId: string },
  at: Time,
): CredentialChange | undefined {
  const isFree = state.claimedUntil === null || state.claimedUntil <= at || state.claimId === claimId;
  if (!isCurrent(state, version) || !isFree) return undefined;
  return { columns: { claimId, claimedUntil: addMilliseconds(at, CLAIM_SECONDS * 1000) }, isClaim: true };
}

/** Records why the pair of a version no longer works; `undefined` if the version is not current. */
export function fail(
  state: CredentialState,
  { version, reason }: { version: string; reason: CredentialFailureReason },
): CredentialChange | undefined {
  if (!isCurrent(state, version)) return undefined;
  // A second report of the same pair changes at most the reason.
  const event = state.reauthReason === null ? 'editor_credential.needs_reauth' : undefined;
  return { columns: { reauthReason: reason }, event };
}

/** Deletes the pair; `undefined` if none is stored. */
export function clear({ keyId }: CredentialState): CredentialChange | undefined {
  if (keyId === null) return undefined;
  const columns = { ciphertext: null, keyId: null, expiresAt: null, refreshedFrom: null, ...reset };
  return { columns, event: 'editor_credential.deleted' };
}
