import type { FastifyInstance } from 'fastify';
import mercurius from 'mercurius';
import { authenticateAll } from './authenticate.ts';
import { resolvers, resolveTypeName, serializeTime, typeDefs } from './graphql.ts';

declare module 'mercurius' {
  interface MercuriusContext {
    userId: string;
    isMember: boolean;
  }
}

/**
 * Serves the GraphQL peer by mercurius, set up as in its documentation: graphql-jit compiles queries at their second
 * execution (`jit: 1`). Caching of documents is the default.
 */
export async function serveMercurius(app: FastifyInstance): Promise<void> {
  authenticateAll(app);
  await app.register(mercurius, {
    schema: typeDefs,
    resolvers: {
      ...resolvers,
      DateTime: { serialize: serializeTime },
      Notification: { resolveType: resolveTypeName },
      UserNotification: { resolveType: resolveTypeName },
    },
    context({ caller }) {
      if (caller === undefined) throw new Error('The hook did not run.');
      // A copy, because mercurius adds properties and the caller is cached.
      return { ...caller };
    },
    jit: 1,
  });
  process.stdout.write(`Listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
}
