import { z } from 'zod';
import { isGatewayScope } from '../config/environment.ts';
import type { Config } from '../config.ts';
import { UnauthenticatedError } from '../errors/gateway-errors.ts';

/** The scopes that operations require. */
export const scopes = [
  'account:read',
  'account:write',
  'platform:read',
  'platform:notifications',
  'platform:workspaces',
  'platform:contacts',
  'platform:admin',
  'platform:credentials',
  'platform:task',
] as const;
export type Scope = (typeof scopes)[number];

const account: readonly Scope[] = ['account:read', 'account:write'];
const platformWrite: readonly Scope[] = [
  'platform:notifications',
  'platform:workspaces',
  'platform:contacts',
  'platform:admin',
];

/** The scopes that a token may name, with what each allows. No operation requires `platform:write` itself. */
export const grants: ReadonlyMap<string, readonly Scope[]> = new Map<string, readonly Scope[]>([
  ...scopes.map((scope): [Scope, Scope[]] => [scope, [scope]]),
  ['account:write', account],
  ['platform:write', platformWrite],
]);

/** The scope of task tokens, which no other scope of the gateway's may accompany. */
export const TASK_SCOPE = 'platform:task' satisfies Scope;

/** Whether `platform:write` includes a scope. */
export function isInPlatformWrite(scope: Scope): boolean {
  return platformWrite.includes(scope);
}

/** How the scopes of a token are read. */
export type ScopeRules = Config['scopes'];

const ScopeClaim = z.union([z.string().transform((text) => text.split(' ')), z.array(z.string())]).optional();

/**
 * Reads the scopes of a token from its claims (RFC 9068, section 2.2.3). A token without a claim of scopes, or with
 * sign-in scopes only, has its user's account. Unknown scopes allow nothing. If there is a prefix, a scope without it is
 * not one of the gateway's.
 * @throws {UnauthenticatedError} if a claim is neither a string nor an array of strings, or if `platform:task` is combined
 *   with another scope of the gateway's
 */
export function parseScopes(
  claims: Readonly<Record<string, unknown>>,
  { claims: names, prefix, signIn, required }: ScopeRules,
): ReadonlySet<Scope> {
  const lists = names.map((name) => readScopeClaim(claims, name)).filter((list) => list !== undefined);
  const named = lists.flat().filter((scope) => scope !== '');
  const own = named.filter((scope) => scope.startsWith(prefix)).map((scope) => scope.slice(prefix.length));
  const others = named.filter((scope) => !scope.startsWith(prefix));
  const isSignIn = named.length > 0 && [...own, ...others].every((scope) => signIn.includes(scope));
  if (lists.length === 0 || isSignIn) return new Set(required ? [] : account);
  const isTask = own.includes(TASK_SCOPE);
  if (isTask && own.some((scope) => scope !== TASK_SCOPE && isGatewayScope(scope)))
    throw UnauthenticatedError.invalidToken(`scope "${TASK_SCOPE}": combined with another scope`);
  return new Set(own.flatMap((scope) => grants.get(scope) ?? []));
}

function readScopeClaim(claims: Readonly<Record<string, unknown>>, name: string) {
  const { success, data } = ScopeClaim.safeParse(claims[name]);
  if (success) return data;
  throw UnauthenticatedError.invalidToken(`claim "${name}": neither a string nor an array of strings`);
}

/** Returns the claim with which a token names scopes, separated by spaces. Adds the prefix to the gateway's own. */
export function formatScopes(named: string, { claims: [claim = ''], prefix }: ScopeRules) {
  const scopes = named.split(' ').map((scope) => (grants.has(scope) ? prefix + scope : scope));
  return { [claim]: scopes.join(' ') };
}
