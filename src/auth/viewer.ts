/** The scopes of the `scope` claim (RFC 9068, section 2.2.3). */
export const scopes = [
  'account:read',
  'account:write',
  'platform:write',
  'platform:read',
  'platform:credentials',
] as const;
export type Scope = (typeof scopes)[number];

/** The authenticated caller. */
export type Viewer = {
  /**
   * The token's `sub`: the calling user or service. An operation accesses this user's account, unless `userId` (an
   * argument, or a field of its input) names another user.
   */
  readonly userId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Whether the token names an organization. authenticate.ts reads the claim. */
  readonly isMember: boolean;
  /** The expiry of the token, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** The fingerprint of the key that signed the token. */
  readonly signedBy: string;
};

/** The viewer of introspection without a token. Has no permissions. */
export const anonymous: Viewer = {
  userId: '',
  scopes: new Set(),
  isMember: false,
  expiresAt: 0,
  signedBy: '',
};

/**
 * Parses the `scope` claim. Without it, a token has full access to its user's account only. `account:write` includes
 * `account:read`. Unknown scopes are ignored.
 */
export function parseScopes(claim: string | undefined): ReadonlySet<Scope> {
  if (claim === undefined) return new Set<Scope>(['account:read', 'account:write']);
  const named = new Set(claim.split(' '));
  const granted = new Set(scopes.filter((scope) => named.has(scope)));
  if (granted.has('account:write')) granted.add('account:read');
  return granted;
}
