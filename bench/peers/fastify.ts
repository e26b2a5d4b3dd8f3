import fastify from 'fastify';
import { authenticateAll } from './authenticate.ts';
import { readWorkspaces } from './reads.ts';
import workspaces from './workspaces.schema.json' with { type: 'json' };

/* Fastify, set up as in its documentation: it compiles a serializer from the reply's JSON schema. No log by default. */

const app = fastify();
authenticateAll(app);
app.get('/user/workspaces', { schema: { response: { 200: workspaces } } }, async ({ caller }) => ({
  workspaces: await readWorkspaces(caller?.userId),
}));

process.stdout.write(`Listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
