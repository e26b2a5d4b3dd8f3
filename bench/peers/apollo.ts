import { createServer } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { GraphQLError, GraphQLScalarType } from 'graphql';
import { listen } from '../../src/server/listen.ts';
import { authenticate, type Caller } from './authenticate.ts';
import { resolvers, resolveTypeName, serializeTime, typeDefs } from './graphql.ts';

/* Apollo Server 5 with Express 5, set up as in Apollo's documentation, except cors(), which takes time. */

const server = new ApolloServer<Caller>({
  typeDefs,
  resolvers: {
    ...resolvers,
    DateTime: new GraphQLScalarType({ name: 'DateTime', serialize: serializeTime }),
    Notification: { __resolveType: resolveTypeName },
    UserNotification: { __resolveType: resolveTypeName },
  },
});
await server.start();

const app = express();
app.use(
  '/graphql',
  express.json(),
  expressMiddleware(server, {
    async context({ req }) {
      const caller = await authenticate(req);
      if (caller !== undefined) return caller;
      throw new GraphQLError('unauthenticated', { extensions: { http: { status: 401 } } });
    },
  }),
);

const address = await listen(createServer(app), { host: '127.0.0.1', port: 0 });
process.stdout.write(`Listening on ${address}\n`);
