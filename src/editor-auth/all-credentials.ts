import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import { joinConditions, type Listed, type Page } from '../database/page.ts';
import {
  countAcrossUsers,
  type ListAcrossUsers,
  selectPageAcrossUsers,
} from '../database/page-across-users.ts';
import type { CredentialCipher } from '../encryption/bound-cipher.ts';
import type { Time } from '../values/time.ts';
import type { CredentialState, ReauthReason } from './editor-auth.enums.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** A filter of the stored credentials of all users. An omitted list or null matches everything, an empty list nothing. */
export type CredentialFilter = {
  states?: readonly CredentialState[] | null | undefined;
  /** The access token expires before this time. */
  expiresBefore?: Time | null | undefined;
};

/** A stored credential in a list, without the token pair. `id` is the user's ID, of which cursors consist. */
export type ListedCredential = Pick<EditorCredential, 'userId' | 'expiresAt' | 'createdAt' | 'updatedAt'> & {
  id: string;
  state: CredentialState;
  reauthReason: ReauthReason | null;
};

/** Selects by the index `editor_credential_failed` or `editor_credential_newest`. All are in one branch. */
function toList(
  { keyIds }: CredentialCipher,
  { states, expiresBefore }: CredentialFilter,
): ListAcrossUsers<'EditorCredential'> {
  const state = sql`case when ${sql.ref('keyId')} <> all(${keyIds}::text[]) then 'unreadable'
    when ${sql.ref('reauthReason')} is null then 'connected' else 'needs_reauth' end`;
  const isFailed = states?.length === 1 && states[0] === 'needs_reauth';
  return {
    table: 'EditorCredential',
    id: 'userId',
    branches: states?.length === 0 ? [] : [''],
    range: isFailed ? sql`${sql.ref('reauthReason')} is not null` : sql`ciphertext is not null`,
    matches: joinConditions([
      states != null && sql`${state} = any(${states}::text[])`,
      expiresBefore != null && sql`${sql.ref('expiresAt')} < ${expiresBefore}`,
    ]),
  };
}

const properties = ['userId', 'createdAt', 'updatedAt', 'expiresAt', 'keyId', 'reauthReason'] as const;

/** Lists the stored credentials of all users, newest first. */
export async function listAllCredentials(
  database: Database,
  cipher: CredentialCipher,
  filter: CredentialFilter,
  page: Page,
): Promise<Listed<ListedCredential>[]> {
  const list = toList(cipher, filter);
  const rows = await selectPageAcrossUsers(getKysely(database.fork()), list, page, properties)
    .select(properties)
    .execute();
  return rows.map(({ keyId, reauthReason, ...row }) => {
    const isReadable = keyId !== null && cipher.canRead(keyId);
    return {
      ...row,
      id: row.userId,
      state: !isReadable ? 'unreadable' : reauthReason === null ? 'connected' : 'needs_reauth',
      reauthReason: isReadable ? reauthReason : 'credential_unreadable',
    };
  });
}

/** How many records a count checks at most, if conditions are checked for each. */
export const MAX_CHECKED = 100_000;

/** Counts the stored credentials of all users. */
export function countAllCredentials(
  database: Database,
  cipher: CredentialCipher,
  filter: CredentialFilter,
): Promise<number> {
  return countAcrossUsers(getKysely(database.fork()), toList(cipher, filter), MAX_CHECKED);
}
