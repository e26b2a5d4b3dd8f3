import fastify, { type FastifyRequest } from 'fastify';
import mercurius from 'mercurius';
import { authenticate, type Caller } from './authenticate.ts';
import { resolvers, serializeTime, typeDefs, typeNameOf } from './notifications-graphql.ts';

/*
 * Fastify and mercurius, as mercurius' documentation has it: queries are compiled by graphql-jit from their second
 * run on (`jit: 1`), parsed documents are kept (its default), Fastify's log is off (its default).
 */

declare module 'mercurius' {
  interface MercuriusContext {
    userId: string;
    isMember: boolean;
  }
}

const app = fastify();
const callers = new WeakMap<object, Caller>();

app.addHook('onRequest', async (request, reply) => {
  const caller = await authenticate(request.raw);
  if (caller === undefined) return reply.code(401).send({ error: 'unauthenticated' });
  callers.set(request, caller);
});

function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new Error('The hook did not run.');
  return caller;
}

await app.register(mercurius, {
  schema: typeDefs,
  resolvers: {
    ...resolvers,
    DateTime: { serialize: serializeTime },
    Notification: { resolveType: typeNameOf },
    UserNotification: { resolveType: typeNameOf },
  },
  context: callerOf,
  jit: 1,
});

process.stdout.write(`Listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
