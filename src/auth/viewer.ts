/** Everything a token can name in its `scope` claim (RFC 9068, section 2.2.3.1). */
export const scopes = [
  'account:read',
  'account:write',
  'platform:write',
  'platform:read',
  'platform:credentials',
] as const;
export type Scope = (typeof scopes)[number];

/** Who calls, as far as the token says. */
export type Viewer = {
  /** The token's `sub`: the user whose account this is. */
  readonly userId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Whether the token names an organization. */
  readonly isMember: boolean;
  /** When the token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** The fingerprint of the key that signed the token. */
  readonly signedBy: string;
};

/** Nobody: what introspection without a token runs as. It may do nothing. */
export const anonymous: Viewer = {
  userId: '',
  scopes: new Set(),
  isMember: false,
  expiresAt: 0,
  signedBy: '',
};

/**
 * The scopes of a token. Without the claim it has its user's full account access and nothing more;
 * `account:write` includes `account:read`; words unknown to us allow nothing.
 */
export function parseScopes(claim: string | undefined): ReadonlySet<Scope> {
  if (claim === undefined) return new Set<Scope>(['account:read', 'account:write']);
  const named = new Set(claim.split(' '));
  const granted = new Set(scopes.filter((scope) => named.has(scope)));
  if (granted.has('account:write')) granted.add('account:read');
  return granted;
}
