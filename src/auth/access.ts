import {
  ForbiddenError,
  type GatewayError,
  MembershipRequiredError,
  NotFoundError,
  UnauthenticatedError,
} from '../errors/gateway-errors.ts';
import type { Path } from '../errors/issue.ts';
import { valueAt } from '../errors/issue.ts';
import { isInPlatformWrite, type Scope, TASK_SCOPE } from './scopes.ts';
import { anonymous, type Task, type Viewer } from './viewer.ts';

/** A rate limit's bucket. Platform operations have their own, and so have task tokens. */
export type Bucket = 'reads' | 'writes' | 'platform' | 'tasks';

/** The permissions that a root field requires, and the rate limit that it counts against. */
export type Access = {
  readonly scope: Scope;
  /** Whether the caller must belong to an organization. */
  readonly membership: boolean;
  /** The scope required instead of `scope` if `userId` is another user's. */
  readonly otherUserScope?: Scope;
  /** Scopes that suffice instead of `scope`. */
  readonly otherScopes?: readonly Scope[];
  /** The arguments that must name the user and the task of a task token. Without it, task tokens have no access. */
  readonly task?: TaskArguments;
  /** The bucket of all callers except task tokens: see {@link findBucket}. */
  readonly bucket: Exclude<Bucket, 'tasks'>;
  /** The points that a call costs, computed from its arguments. Defaults to 1. */
  readonly points?: (args: Readonly<Record<string, unknown>>) => number;
};

/**
 * The paths of the arguments that name a user and a task. A call that does not name the task, because it names records,
 * must restrict these itself, for example by {@link requireOwnTask}.
 */
export type TaskArguments = { readonly userId: Path; readonly taskId?: Path };

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
export function platform(scope: Exclude<Extract<Scope, `platform:${string}`>, typeof TASK_SCOPE>): Access {
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

/** Returns the bucket that a viewer's call of a field counts against. */
export function findBucket({ bucket }: Access, { task }: Viewer): Bucket {
  return task ? 'tasks' : bucket;
}

/** Describes required permissions in Markdown. Set `takesUser` if the operation has a `userId` argument. */
export function describeAccess(
  { scope, membership, otherUserScope, otherScopes = [], task }: Access,
  takesUser = false,
): string {
  const other =
    takesUser && otherUserScope ? `, or \`${otherUserScope}\` if \`userId\` names another user` : '';
  const broader = isInPlatformWrite(scope) ? ', which `platform:write` includes' : '';
  const others = otherScopes.map((name) => `, or \`${name}\``).join('');
  const ofTask = task ? `, or \`${TASK_SCOPE}\` for the token's task` : '';
  const member = membership ? ' Requires membership in an organization.' : '';
  return `Requires the scope \`${scope}\`${broader}${other}${others}${ofTask}.${member}`;
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
  if (viewer.task) return checkTask(access.task, viewer.task, args);
  const scope = findScope(access, viewer, args);
  if (![scope, ...(access.otherScopes ?? [])].some((one) => viewer.scopes.has(one))) {
    const canReadUsers = access.bucket === 'reads' && viewer.scopes.has(platformRead.scope);
    return ForbiddenError.missingScope(scope, canReadUsers ? USER_HINT : '');
  }
  return access.membership && !viewer.isMember ? new MembershipRequiredError() : undefined;
}

/** Returns why a task token may not call a field. */
function checkTask(paths: TaskArguments | undefined, task: Task, args?: Arguments): GatewayError | undefined {
  if (paths === undefined)
    return ForbiddenError.forTask('may only use operations whose description names it');
  if (args === undefined) return undefined;
  const taskId = paths.taskId && valueAt(args, paths.taskId);
  const isOwn = valueAt(args, paths.userId) === task.userId && (taskId == null || taskId === task.taskId);
  if (isOwn) return undefined;
  const [userId, ownTaskId] = [task.userId, task.taskId].map((id) => JSON.stringify(id));
  return ForbiddenError.forTask(`has access only to the notifications of user ${userId}, task ${ownTaskId}`);
}

/**
 * Refuses a task token access to a record of another user or task, as if it did not exist.
 * @throws {NotFoundError}
 */
export function requireOwnTask({ task }: Viewer, { userId, taskId }: Task): void {
  if (task && (userId !== task.userId || taskId !== task.taskId)) throw new NotFoundError();
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
