import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { settings } from './settings.ts';

/** The authenticated caller. */
export type Caller = { userId: string; isMember: boolean };

const keySet = createLocalJWKSet(settings.AUTH_JWKS);
/** Verified tokens until they expire. The key is the token itself, which is cheaper than a hash. */
const verified = new LRUCache<string, Caller>({ max: 10_000 });

/** Returns the caller of a request; undefined if the token is missing or invalid. */
export async function authenticate(request: IncomingMessage): Promise<Caller | undefined> {
  const { authorization } = request.headers;
  if (!authorization?.startsWith('Bearer ')) return undefined;
  const token = authorization.slice('Bearer '.length);
  return verified.get(token) ?? verify(token).catch(() => undefined);
}

async function verify(token: string): Promise<Caller> {
  const { payload } = await jwtVerify(token, keySet, {
    algorithms: ['EdDSA', 'ES256', 'RS256', 'PS256'],
    issuer: settings.AUTH_ISSUER,
    audience: settings.AUTH_AUDIENCE,
    requiredClaims: ['sub', 'exp'],
  });
  const { sub = '', exp = 0, org_id: organization } = payload;
  const caller = { userId: sub, isMember: typeof organization === 'string' && organization !== '' };
  verified.set(token, caller, { ttl: exp * 1000 - Date.now() });
  return caller;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

/** Adds the caller to every request by a decorator, as in Fastify's documentation. Replies 401 without a valid token. */
export function authenticateAll(app: FastifyInstance): void {
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request, reply) => {
    request.caller = await authenticate(request.raw);
    if (request.caller === undefined) return reply.code(401).send({ error: 'unauthenticated' });
  });
}
