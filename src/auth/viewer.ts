import type { Scope } from './scopes.ts';

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
