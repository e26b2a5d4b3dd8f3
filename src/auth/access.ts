import {
  ForbiddenError,
  type GatewayError,
  MembershipRequiredError,
  UnauthenticatedError,
} from '../errors/gateway-errors.ts';
import { isInPlatformWrite, type Scope } from './scopes.ts';
import { anonymous, type Viewer } from './viewer.ts';

/** A rate limit's bucket. Platform operations have their own. */
export type Bucket = 'reads' | 'writes' | 'platform';

/** The permissions that a root field requires, and the rate limit that it counts against. */
export type Access = {
  readonly scope: Scope;
  /** Whether the caller must belong to an organization. */
  readonly membership: boolean;
  /** The scope required instead of `scope` if `userId` is another user's. */
  readonly otherUserScope?: Scope;
  readonly bucket: Bucket;
  /** The points that a call costs, computed from its arguments. Defaults to 1. */
  readonly points?: (args: Readonly<Record<string, unknown>>) => number;
};

/** Access to read one's own account. */
export const accountRead: Access = { scope: 'account:read', membership: false, bucket: 'reads' };
/** Access to subscribe to one's own account, or to another user's with `platform:read`. */
export const accountStream: Access = { ...accountRead, otherUserScope: 'platform:read' };
/** Access to change one's own account. */
export const accountWrite: Access = { scope: 'account:write', membership: false, bucket: 'writes' };
/** Access to read data that only members of an organization have. */
export const memberRead: Access = { ...accountRead, membership: true };
/** Access to subscribe to such data. */
export const memberStream: Access = { ...accountStream, membership: true };
/** Access to change data that only members of an organization have. */
export const memberWrite: Access = { ...accountWrite, membership: true };
/** Access for services of the platform. */
export function platform(scope: Extract<Scope, `platform:${string}`>): Access {
  return { scope, membership: false, bucket: 'platform' };
}

/** Access to what any user has. */
export const platformRead: Access = platform('platform:read');

/** A user's record. `reader` is set for a user: whether the operation selected them as `viewer` or as the platform. */
export type OwnedRecord = { readonly userId: string; readonly reader?: 'viewer' | 'platform' };

/**
 * Returns the access that a field of a user's record requires: the declared one if callers read their own account, and
 * otherwise that of the platform.
 */
export function findRecordAccess(declared: Access, { userId, reader }: OwnedRecord, viewer: Viewer): Access {
  const isOwn = reader ? reader === 'viewer' : userId === viewer.userId && viewer.scopes.has('account:read');
  return isOwn ? declared : platformRead;
}

/** Describes the permissions that a field of a user's record requires, in Markdown. */
export function describeRecordAccess({ scope, membership }: Access): string {
  if (scope === platformRead.scope) return `Requires the scope \`${scope}\`.`;
  const member = membership ? ' Requires membership in an organization under `viewer`.' : '';
  return `Requires the scope \`${scope}\` for the caller's own account, otherwise \`${platformRead.scope}\`.${member}`;
}

/** Describes required permissions in Markdown. Set `takesUser` if the operation has a `userId` argument. */
export function describeAccess({ scope, membership, otherUserScope }: Access, takesUser = false): string {
  const other =
    takesUser && otherUserScope ? `, or \`${otherUserScope}\` if \`userId\` names another user` : '';
  const broader = isInPlatformWrite(scope) ? ', which `platform:write` includes' : '';
  const member = membership ? ' Requires membership in an organization.' : '';
  return `Requires the scope \`${scope}\`${broader}${other}.${member}`;
}

/** Returns the access that a root field declares. @throws {Error} if it declares none */
export function requireAccess(name: string, declared: { access?: Access } | null | undefined): Access {
  if (declared?.access === undefined) throw new Error(`The field "${name}" declares no access.`);
  return declared.access;
}

/**
 * Returns why a viewer may not select a field; undefined if they may. `args` is undefined while the arguments are
 * unknown. A missing scope is reported before a missing membership.
 */
export function checkAccess(access: Access, viewer: Viewer, args?: Arguments): GatewayError | undefined {
  if (viewer === anonymous)
    return UnauthenticatedError.missingToken('no token; only introspection is allowed without one');
  const scope = findScope(access, viewer, args);
  if (!viewer.scopes.has(scope)) {
    const canReadUsers = access.bucket === 'reads' && viewer.scopes.has(platformRead.scope);
    return new ForbiddenError(scope, canReadUsers ? USER_HINT : '');
  }
  return access.membership && !viewer.isMember ? new MembershipRequiredError() : undefined;
}

const USER_HINT = ' With "platform:read", use the field `user(id:)` of the GraphQL API.';

type Arguments = { readonly userId?: unknown };

/**
 * Returns the required scope: `otherUserScope` if the arguments name another user. While the arguments are unknown, it
 * is required if the viewer has it, so that `checkAccess` refuses only a viewer who has neither scope.
 */
function findScope({ scope, otherUserScope = scope }: Access, viewer: Viewer, args?: Arguments): Scope {
  if (args === undefined) return viewer.scopes.has(otherUserScope) ? otherUserScope : scope;
  return typeof args.userId === 'string' && args.userId !== viewer.userId ? otherUserScope : scope;
}
