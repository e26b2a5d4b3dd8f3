import type { IncomingMessage } from 'node:http';
import { errors, jwtVerify } from 'jose';
import { z } from 'zod';
import { InternalError, UnauthenticatedError } from '../errors/gateway-errors.ts';
import { isId } from '../values/text.ts';
import { fingerprint } from './fingerprint.ts';
import type { KeySet } from './key-set.ts';
import { hasRepeatedMembers } from './repeated-members.ts';
import { createTokenCache, type TokenCache } from './token-cache.ts';
import { parseScopes, type Viewer } from './viewer.ts';

/** The requirements that a token is verified against. */
export type TokenRules = {
  keySet: KeySet;
  issuer: string | null;
  audience: string | null;
  orgClaim: string;
};

/** Identifies the viewer who sent a request. */
export type Authenticate = (request: IncomingMessage) => Promise<Viewer>;

const ALGORITHMS = ['EdDSA', 'ES256', 'RS256', 'PS256'];
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
  const [header, ...others] = request.headersDistinct.authorization ?? [];
  if (header === undefined) throw UnauthenticatedError.missingToken('no Authorization header');
  if (others.length > 0) throw UnauthenticatedError.invalidToken('more than one Authorization header');
  if (!/^Bearer( |$)/i.test(header)) throw UnauthenticatedError.missingToken('a scheme other than Bearer');
  const [, token] = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header) ?? [];
  if (token === undefined) throw UnauthenticatedError.invalidToken('not a bearer token');
  return token;
}

const Claims = z.looseObject({
  sub: z.string().refine(isId),
  exp: z.number(),
  scope: z.string().optional(),
});

const Organization = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

/**
 * Verifies a token (RFC 7515, RFC 7519) and reads its claims.
 * @throws {UnauthenticatedError} if a check fails; `reason` names the check
 * @throws {InternalError} if the key set is unavailable
 */
async function verifyToken(rules: TokenRules, token: string): Promise<Viewer> {
  try {
    const { payload, protectedHeader, key } = await jwtVerify(token, rules.keySet, {
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(),
      requiredClaims: ['sub', 'exp'],
      ...(rules.issuer !== null && { issuer: rules.issuer }),
      ...(rules.audience !== null && { audience: rules.audience }),
    });
    if ('b64' in protectedHeader)
      throw UnauthenticatedError.invalidToken('b64 is not allowed in a JWT (RFC 7797, section 7)');
    if (token.split('.', 2).some((part) => hasRepeatedMembers(Buffer.from(part, 'base64url').toString()))) {
      throw UnauthenticatedError.invalidToken('a member is repeated');
    }
    const claims = Claims.parse(payload);
    return {
      userId: claims.sub,
      scopes: parseScopes(claims.scope),
      isMember: Organization.safeParse(claims[rules.orgClaim]).success,
      expiresAt: claims.exp * 1000,
      signedBy: fingerprint(key),
    };
  } catch (error) {
    if (error instanceof InternalError || error instanceof UnauthenticatedError) throw error;
    if (error instanceof errors.JOSEError || error instanceof z.ZodError) {
      throw UnauthenticatedError.invalidToken(describeReason(error));
    }
    throw new InternalError(error);
  }
}

/** Describes the failed check. Unlike the causes of jose's errors, the description does not quote the token. */
function describeReason(error: errors.JOSEError | z.ZodError): string {
  if (error instanceof errors.JOSEError) return `${error.code}: ${error.message}`;
  return error.issues.map(({ path, code }) => `claim "${path.join('.')}": ${code}`).join(', ');
}
