import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { errors, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { InternalError, UnauthenticatedError } from '../errors/gateway-errors.ts';
import { isId } from '../values/text.ts';
import { fingerprint, type KeySet, REMOVAL_MS } from './key-set.ts';
import { parseScopes, type Scope, TASK_SCOPE } from './scopes.ts';
import { ALGORITHMS } from './usable-keys.ts';
import { identifyCaller, type TokenTask, type Viewer } from './viewer.ts';

/** The requirements that a token is verified against. */
type TokenRules = Pick<Config, 'issuer' | 'audience' | 'orgClaim' | 'scopes' | 'taskClaims'> & {
  keySet: KeySet;
};

/** Identifies the viewer who sent a request. */
export type Authenticate = (request: IncomingMessage) => Promise<Viewer>;

const CLOCK_TOLERANCE_SECONDS = 5;

/** Creates authentication by the `Authorization` header (RFC 6750, section 2.1). Other methods are not supported. */
export function createAuthenticate(tokens: TokenCache): Authenticate {
  return async (request) => tokens.verify(readBearerToken(request));
}

/** Creates a caching verifier of tokens. */
export function createTokenVerifier(rules: TokenRules): TokenCache {
  return createTokenCache((token) => verifyToken(rules, token));
}

/**
 * Reads the token of a request.
 * @throws {UnauthenticatedError} for a missing or repeated header, another scheme, or a malformed token
 */
function readBearerToken(request: IncomingMessage): string {
  const [header, ...others] = headerValues(request, 'authorization');
  if (header === undefined) throw UnauthenticatedError.missingToken('no Authorization header');
  if (others.length > 0) throw UnauthenticatedError.invalidToken('more than one Authorization header');
  if (!/^Bearer( |$)/i.test(header)) throw UnauthenticatedError.missingToken('a scheme other than Bearer');
  const [, token] = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header) ?? [];
  if (token === undefined) throw UnauthenticatedError.invalidToken('not a bearer token');
  return token;
}

/**
 * Returns the values of a header, given in lower case. `headersDistinct` would copy all headers, for as long as the request is
 * in memory.
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter(
    (_value, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1,
  );
}

const Claims = z.looseObject({ sub: z.string().refine(isId), exp: z.number() });

const Organization = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

/**
 * Verifies a token (RFC 7515, RFC 7519) and reads its claims.
 * @throws {UnauthenticatedError} if a check fails; `reason` names the check
 * @throws {InternalError} if the key set is unavailable
 */
async function verifyToken(rules: TokenRules, token: string): Promise<Viewer> {
  try {
    const { payload, protectedHeader, key } = await verifySignature(rules, token);
    if ('b64' in protectedHeader)
      throw UnauthenticatedError.invalidToken('b64 is not allowed in a JWT (RFC 7797, section 7)');
    if (token.split('.', 2).some((part) => hasRepeatedMembers(Buffer.from(part, 'base64url').toString()))) {
      throw UnauthenticatedError.invalidToken('a member is repeated');
    }
    const claims = Claims.parse(payload);
    const scopes = parseScopes(claims, rules.scopes);
    const task = readTask(claims, scopes, rules);
    return {
      userId: claims.sub,
      caller: identifyCaller(claims.sub, task),
      scopes,
      ...(task && { task }),
      isMember: Organization.safeParse(claims[rules.orgClaim]).success,
      expiresAt: claims.exp * 1000,
      signedBy: fingerprint(key),
    };
  } catch (error) {
    if (error instanceof InternalError || error instanceof UnauthenticatedError) throw error;
    if (error instanceof z.ZodError) throw UnauthenticatedError.invalidToken(describeIssues(error));
    throw new InternalError(error);
  }
}

/** Whatever fails here is caused by the token or its key, unless the key set is unavailable. */
async function verifySignature({ keySet, issuer, audience }: TokenRules, token: string) {
  try {
    return await jwtVerify(token, keySet, {
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(),
      requiredClaims: ['sub', 'exp'],
      ...(issuer !== null && { issuer }),
      ...(audience !== null && { audience }),
    });
  } catch (error) {
    if (error instanceof InternalError) throw error;
    throw UnauthenticatedError.invalidToken(describeFailure(error));
  }
}

/**
 * Reads the task of a task token; `undefined` for another token.
 * @throws {UnauthenticatedError} if the claims of tasks are not configured, the token does not have both, or one is not an ID
 */
function readTask(
  claims: Readonly<Record<string, unknown>>,
  scopes: ReadonlySet<Scope>,
  { taskClaims }: TokenRules,
): TokenTask | undefined {
  if (!scopes.has(TASK_SCOPE)) return undefined;
  if (taskClaims === null)
    throw UnauthenticatedError.invalidToken(`scope "${TASK_SCOPE}": AUTH_TASK_CLAIM is not set`);
  const task = { userId: readId(claims, taskClaims.user), taskId: readId(claims, taskClaims.task) };
  const { project } = taskClaims;
  if (project === undefined || !Object.hasOwn(claims, project)) return task;
  return { ...task, projectId: readId(claims, project) };
}

function readId(claims: Readonly<Record<string, unknown>>, name: string): string {
  const id = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof id === 'string' && isId(id)) return id;
  throw UnauthenticatedError.invalidToken(`claim "${name}": not an ID`);
}

/** Describes the failed check. Unlike the causes of jose's errors, the description does not quote the token. */
function describeFailure(error: unknown): string {
  if (error instanceof errors.JOSEError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.name : 'unknown';
}

function describeIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, code }) => `claim "${path.join('.')}": ${code}`).join(', ');
}

/**
 * Whether any object in a JSON text repeats a member. Parsers differ in which value they use, so issuer and gateway
 * could read different claims (RFC 7519, section 4).
 */
export function hasRepeatedMembers(json: string): boolean {
  const open: (Set<string> | null)[] = [];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/gs)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token.endsWith(':')) {
      const name: unknown = JSON.parse(token.slice(0, -1));
      const names = open.at(-1);
      if (typeof name !== 'string' || !names) continue;
      if (names.has(name)) return true;
      names.add(name);
    }
  }
  return false;
}

const MAX_TOKENS = 10_000;

/**
 * After a key is removed from the key set, its tokens, including cached ones, are rejected within this time, unless the
 * key set cannot be fetched.
 */
const MAX_REVOCATION_MS = 60_000;

/** How long a verified token is accepted without verifying it again. */
const TTL_MS = MAX_REVOCATION_MS - REMOVAL_MS;

/** Verifies tokens and caches the results. */
type TokenCache = ReturnType<typeof createTokenCache>;

/**
 * Caches the viewers of verified tokens, at most until the token expires. Keys are hashes, so that no token stays in
 * memory. Rejected tokens are not cached.
 */
export function createTokenCache(verify: (token: string) => Promise<Viewer>) {
  const cache = new LRUCache<string, { viewer: Viewer; until: number }>({ max: MAX_TOKENS });
  return {
    get size(): number {
      return cache.size;
    },
    async verify(token: string): Promise<Viewer> {
      const key = hash('sha256', token, 'base64');
      const cached = cache.get(key);
      if (cached !== undefined && Date.now() < cached.until) return cached.viewer;
      const viewer = await verify(token);
      cache.set(key, { viewer, until: Math.min(viewer.expiresAt, Date.now() + TTL_MS) });
      return viewer;
    },
  };
}
