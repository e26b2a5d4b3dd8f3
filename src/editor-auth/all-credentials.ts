import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { joinConditions, type Listed, type Page, type PageInput } from '../database/page.ts';
import {
  type Branches,
  type BranchFilter,
  type BranchInput,
  defineListAcrossUsers,
  selectCountAcrossUsers,
  selectPageAcrossUsers,
} from '../database/page-across-users.ts';
import type { ReadParams } from '../database/read.ts';
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

type FilterInput = {
  /** The only state is `needs_reauth`. */
  isFailed: true | undefined;
  states: readonly CredentialState[] | undefined;
  /** The keys that can be read. */
  keyIds: readonly string[];
  expiresBefore: Time | undefined;
};

type ListInput = FilterInput & PageInput & BranchInput;

function toFilterInput({
  states,
  expiresBefore,
  keyIds,
}: CredentialFilter & Pick<CredentialCipher, 'keyIds'>) {
  const isFailed = states?.length === 1 && states[0] === 'needs_reauth';
  const input: FilterInput = {
    isFailed: isFailed || undefined,
    states: states ?? undefined,
    keyIds,
    expiresBefore: expiresBefore ?? undefined,
  };
  // All are in one branch.
  const branches: Branches = {
    branches: states?.length === 0 ? [] : [''],
    isChecked: states != null || expiresBefore != null,
  };
  return { input, branches };
}

/** Selects by the index `editor_credential_failed` or `editor_credential_newest`. */
function selectMatching({ param, has }: ReadParams<FilterInput>): BranchFilter<'EditorCredential'> {
  const state = sql`case when ${sql.ref('keyId')} <> all(${param('keyIds')}) then 'unreadable'
    when ${sql.ref('reauthReason')} is null then 'connected' else 'needs_reauth' end`;
  return {
    table: 'EditorCredential',
    id: 'userId',
    // Literals, because PostgreSQL uses a partial index only if the condition is a constant.
    range: has('isFailed') ? sql`${sql.ref('reauthReason')} is not null` : sql`ciphertext is not null`,
    matches: joinConditions([
      has('states') && sql`${state} = any(${param('states')})`,
      has('expiresBefore') && sql`${sql.ref('expiresAt')} < ${param('expiresBefore')}`,
    ]),
  };
}

const properties = ['userId', 'createdAt', 'updatedAt', 'expiresAt', 'keyId', 'reauthReason'] as const;

/** The stored credentials of all users, in the order in which users first stored one. */
export const allCredentials = defineListAcrossUsers({
  toInput: toFilterInput,
  selectPage: (db, params: ReadParams<ListInput>) =>
    selectPageAcrossUsers(db, params, selectMatching(params), properties).select(properties),
  selectCount: (db, params) => selectCountAcrossUsers(db, params, selectMatching(params)),
  maxChecked: 100_000,
});

/** Lists the stored credentials of all users, newest first. */
export async function listAllCredentials(
  database: Database,
  cipher: CredentialCipher,
  filter: CredentialFilter,
  page: Page,
): Promise<Listed<ListedCredential>[]> {
  const rows = await allCredentials.list(database, { ...filter, keyIds: cipher.keyIds }, page);
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
