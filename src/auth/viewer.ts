import type { Scope } from './scopes.ts';

/** The only user and task whose notifications a task token gives access to. */
export type Task = { readonly userId: string; readonly taskId: string };

/** The task of a task token, and the task's project if the token names it. */
export type TokenTask = Task & { readonly projectId?: string };

/** The authenticated caller. */
export type Viewer = {
  /**
   * The token's `sub`: the calling user or service. An operation accesses this user's account, unless `userId` (an
   * argument, or a field of its input) names another user.
   */
  readonly userId: string;
  /** The caller whom limits count for: see {@link identifyCaller}. */
  readonly caller: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Whether the token names an organization. authenticate.ts reads the claim. */
  readonly isMember: boolean;
  /** The expiry of the token, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** The fingerprint of the key that signed the token. */
  readonly signedBy: string;
  /** Only set by a task token (scope `platform:task`). */
  readonly task?: TokenTask;
};

/**
 * Returns the caller whom limits count for: the token's subject, or the task of a task token, so that a task can use up
 * neither the limits of its user nor those of other tasks.
 */
export function identifyCaller(userId: string, task?: Task): string {
  // No ID contains a control character, so that no subject and no other task has the same key.
  return task ? `${task.userId}\n${task.taskId}` : userId;
}

/** The viewer of introspection without a token. Has no permissions. */
export const anonymous: Viewer = {
  userId: '',
  caller: '',
  scopes: new Set(),
  isMember: false,
  expiresAt: 0,
  signedBy: '',
};
