import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Router } from 'express';
import type { GraphQLSchema } from 'graphql';
import type { HandleRequest } from '../src/context.ts';
import type { Engine } from '../src/graphql/execution/engine.ts';
import { toPattern } from '../src/http/route-names.ts';
import { bindRoute } from './bind-route.ts';
import { editorAuth } from './editor-auth.ts';
import { sendError, sendJson } from './errors.ts';
import { notifications } from './notifications.ts';
import { preferences } from './preferences.ts';
import type { Route } from './route.ts';
import { workspaces } from './workspaces.ts';

/** Every path of the REST API. */
export const routes: readonly Route[] = [...notifications, ...preferences, ...editorAuth, ...workspaces];

/** The parts of the gateway that the REST API uses. */
export type RestOptions = {
  schema: GraphQLSchema;
  engine: Pick<Engine, 'prepare'>;
  handle: HandleRequest;
};

/**
 * Creates the router of the REST API.
 * @throws {Error} if a route does not fit the schema
 */
export function createRestRouter(options: RestOptions): Router {
  const router = express.Router();
  for (const route of routes) {
    router[route.method](toPattern(route.path), createHandler(route, options));
  }
  return router;
}

function createHandler(route: Route, { schema, engine, handle }: RestOptions) {
  const handleRoute = bindRoute(route, schema, engine);
  return async (request: IncomingMessage, response: ServerResponse) => {
    const send = await handle(request, response, {
      async run(context) {
        const { status, body } = await handleRoute(request, response, context);
        return () => sendJson(response, status, body);
      },
      refuse: (error) => () => sendError(response, error),
    });
    send();
  };
}
