import fastify from 'fastify';
import mercurius from 'mercurius';
import { authenticateAll } from './fastify-caller.ts';
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
authenticateAll(app);

await app.register(mercurius, {
  schema: typeDefs,
  resolvers: {
    ...resolvers,
    DateTime: { serialize: serializeTime },
    Notification: { resolveType: typeNameOf },
    UserNotification: { resolveType: typeNameOf },
  },
  context({ caller }) {
    if (caller === undefined) throw new Error('The hook did not run.');
    // A copy: mercurius puts members of its own on it, and the caller is remembered.
    return { ...caller };
  },
  jit: 1,
});

process.stdout.write(`Listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
