import { createServer } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { GraphQLError, GraphQLScalarType } from 'graphql';
import { authenticate, type Caller } from './authenticate.ts';
import { resolvers, serializeTime, typeDefs, typeNameOf } from './notifications-graphql.ts';

/*
 * Apollo Server 5 in Express 5, as Apollo's documentation has it: parsed and validated documents are kept (its
 * default), nothing is reported to anybody (its default without a key), Express runs with NODE_ENV=production. The
 * documentation's cors() is left out, which costs time and is not needed here.
 */

const server = new ApolloServer<Caller>({
  typeDefs,
  resolvers: {
    ...resolvers,
    DateTime: new GraphQLScalarType({ name: 'DateTime', serialize: serializeTime }),
    Notification: { __resolveType: typeNameOf },
    UserNotification: { __resolveType: typeNameOf },
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

const http = createServer(app).listen(0, '127.0.0.1', () => {
  const address = http.address();
  if (address !== null && typeof address !== 'string')
    process.stdout.write(`Listening on http://127.0.0.1:${address.port}\n`);
});
