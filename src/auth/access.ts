import {
  ForbiddenError,
  type GatewayError,
  MembershipRequiredError,
  UnauthenticatedError,
} from '../errors/gateway-errors.ts';
import { anonymous, type Scope, type Viewer } from './viewer.ts';

/** A rate limit's bucket. Platform operations have their own. */
export type Bucket = 'reads' | 'writes' | 'platform';

/** What a root field requires of its caller, and the rate limit that it counts against. */
export type Access = {
  readonly scope: Scope;
  /** Whether the caller must belong to an organization. */
  readonly membership: boolean;
  /** The scope that naming another user in `userId` needs instead of `scope`. */
  readonly otherUserScope?: Scope;
  readonly bucket: Bucket;
  /** How many points a call costs, by its arguments; 1 unless declared. */
  readonly points?: (args: Readonly<Record<string, unknown>>) => number;
};

/** Reading one's own account, or with `platform:read` another user's. */
export const accountRead: Access = {
  scope: 'account:read',
  membership: false,
  otherUserScope: 'platform:read',
  bucket: 'reads',
};
/** Changing one's own account. */
export const accountWrite: Access = { scope: 'account:write', membership: false, bucket: 'writes' };
/** Reading what only members of an organization have. */
export const memberRead: Access = { ...accountRead, membership: true };
/** Changing what only members of an organization have. */
export const memberWrite: Access = { ...accountWrite, membership: true };
/** The platform's own services. */
export function platform(scope: Extract<Scope, `platform:${string}`>): Access {
  return { scope, membership: false, bucket: 'platform' };
}

/** Describes what an operation requires, in Markdown; `takesUser` where its caller may name another user. */
export function describeAccess({ scope, membership, otherUserScope }: Access, takesUser = false): string {
  const other = takesUser && otherUserScope ? `, or \`${otherUserScope}\` if \`userId\` is another user` : '';
  const member = membership ? ' Requires membership in an organization.' : '';
  return `Requires the scope \`${scope}\`${other}.${member}`;
}

/**
 * Returns the access that a root field declares.
 * @throws {Error} if it declares none; such a schema is not served
 */
export function requireAccess(name: string, extensions: { access?: Access } | null | undefined): Access {
  if (extensions?.access === undefined) throw new Error(`The root field "${name}" declares no access.`);
  return extensions.access;
}

/**
 * Returns the error that denies a viewer a field; undefined if access is allowed. `args` is undefined while the arguments
 * are unknown. A missing scope is reported before a missing membership.
 */
export function checkAccess(access: Access, viewer: Viewer, args?: Arguments): GatewayError | undefined {
  if (viewer === anonymous) return new UnauthenticatedError(false, 'introspection alone needs no token');
  const scope = isForAnother(access, viewer, args) ? (access.otherUserScope ?? access.scope) : access.scope;
  if (!viewer.scopes.has(scope)) return new ForbiddenError(scope);
  return access.membership && !viewer.isMember ? new MembershipRequiredError() : undefined;
}

type Arguments = { readonly userId?: unknown };

function isForAnother(access: Access, viewer: Viewer, args?: Arguments): boolean {
  if (args === undefined)
    return access.otherUserScope !== undefined && viewer.scopes.has(access.otherUserScope);
  return typeof args.userId === 'string' && args.userId !== viewer.userId;
}
