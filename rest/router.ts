import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Router } from 'express';
import type { GraphQLSchema } from 'graphql';
import type { Context, RequestHooks } from '../src/context.ts';
import type { Engine } from '../src/graphql/execution/engine.ts';
import { templatePattern } from '../src/http/route-names.ts';
import { editorAuth } from './editor-auth.ts';
import { sendError, sendJson } from './errors.ts';
import { notifications } from './notifications.ts';
import { preferences } from './preferences.ts';
import { bindRoute, type Route } from './route.ts';
import { workspaces } from './workspaces.ts';

/** Every path of the REST face. */
export const routes: readonly Route[] = [...notifications, ...preferences, ...editorAuth, ...workspaces];

/** What the REST face needs of the gateway. */
export type RestOptions = RequestHooks & {
  schema: GraphQLSchema;
  engine: Pick<Engine, 'prepare'>;
};

/** The REST face. Throws where a route does not fit the schema, so that no such server starts. */
export function createRestRouter(options: RestOptions): Router {
  const router = express.Router();
  for (const route of routes) {
    router[route.method](templatePattern(route.path), createHandler(route, options));
  }
  return router;
}

function createHandler(route: Route, { schema, engine, open, settle, fail }: RestOptions) {
  const handle = bindRoute(route, schema, engine);
  return async (request: IncomingMessage, response: ServerResponse) => {
    let context: Context | undefined;
    try {
      context = await open(request, response);
      const { status, body } = await handle(request, response, context);
      await settle(context, response);
      sendJson(response, status, body);
    } catch (error) {
      if (context !== undefined) await settle(context, response);
      sendError(response, fail(error, response));
    }
  };
}
