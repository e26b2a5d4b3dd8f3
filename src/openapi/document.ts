import type { RequestListener } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { Route } from '../../rest/route.ts';
import { routes } from '../../rest/router.ts';
import { type Access, requireAccess } from '../auth/access.ts';
import { sendText } from '../http/messages.ts';
import { errorResponse } from './errors.ts';
import { describeOperation, listParameters, listShapes } from './operation.ts';
import { headers, notModified } from './responses.ts';
import { type Json, toSchemas } from './schemas.ts';
import { bearer, introduction, tags } from './text.ts';

/** The version that the specification gives for this API. */
const VERSION = '0.1.0';

/**
 * Creates the OpenAPI 3.1 document of the REST API at an address, from its routes and shapes and the schema's access.
 * @throws {Error} if a route's root field declares no access
 */
export function createOpenApiDocument(schema: GraphQLSchema, address: string): Json {
  const bodies = routes.flatMap((route) => Object.entries(listShapes(route)));
  const { schemas, components } = toSchemas({ ...Object.fromEntries(bodies), errorResponse });
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const operation = describeOperation(route, findAccess(route, schema), schemas);
    paths[route.path] = { ...paths[route.path], [route.method]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Account and integrations',
      version: VERSION,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: address }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components,
      responses: { NotModified: notModified },
      parameters: listParameters,
      headers,
      securitySchemes: { bearer },
    },
  };
}

function findAccess({ field }: Route, schema: GraphQLSchema): Access {
  const root = [schema.getQueryType(), schema.getMutationType()].find((type) => type?.getFields()[field]);
  return requireAccess(field, root?.getFields()[field]?.extensions);
}

/** Serves the document without authentication. It is created on the first request, when the address is known. */
export function serveOpenApi(schema: GraphQLSchema, address: () => string): RequestListener {
  let text: string | undefined;
  return (_request, response) => {
    text ??= JSON.stringify(createOpenApiDocument(schema, address()));
    response.setHeader('Cache-Control', 'no-cache');
    sendText(response, 200, 'application/json', text);
  };
}
