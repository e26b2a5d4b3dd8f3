import type { FastifyInstance } from 'fastify';
import { authenticate, type Caller } from './authenticate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

/** Puts the caller on every request, by a decorator as Fastify's documentation has it; without a token it is 401. */
export function authenticateAll(app: FastifyInstance): void {
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request, reply) => {
    request.caller = await authenticate(request.raw);
    if (request.caller === undefined) return reply.code(401).send({ error: 'unauthenticated' });
  });
}
