import type { FastifyInstance } from 'fastify';
import { authenticate, type Caller } from './authenticate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

/**
 * Adds the caller to every request by a decorator, as in Fastify's documentation. Replies 401 without a valid token.
 */
export function authenticateAll(app: FastifyInstance): void {
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request, reply) => {
    request.caller = await authenticate(request.raw);
    if (request.caller === undefined) return reply.code(401).send({ error: 'unauthenticated' });
  });
}
