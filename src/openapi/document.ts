import type { RequestListener } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { Route, Tag } from '../../rest/route.ts';
import { routes } from '../../rest/router.ts';
import { type Access, requireAccess } from '../auth/access.ts';
import { sendText } from '../http/messages.ts';
import { errorResponse } from './errors.ts';
import { describeOperation, listParameters, listShapes } from './operation.ts';
import { headers, notModified } from './responses.ts';
import { type Json, toSchemas } from './schemas.ts';

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

/** The rules of every operation, in Markdown. */
const introduction = `
A user's notifications, notification preferences, editor connection and workspaces.

- **Timestamps** are RFC 3339 in UTC with milliseconds. **IDs** are opaque strings of 1 to 255 characters, unique within a
  user, and the same in GraphQL.
- **Null or omitted.** A nullable field is always present. An optional field is omitted while it has no value.
- **Bodies** are JSON in UTF-8 with \`Content-Type: application/json\`, of at most 1 MiB and 256 nested levels. Unknown
  properties are rejected. The body of an operation that takes none is ignored. Unknown query parameters are ignored,
  except by extensions, which reject them.
- **Lists** of notifications and workspaces are sorted by \`created_at\`, newest first, then by \`id\`. They contain all
  records unless \`limit\` is given. If it cuts the list, the header \`Link\` contains the URL of the next page. With \`If-None-Match\`, an unchanged list returns 304.
- **Errors** have the body \`ErrorResponse\`, with a \`code\` from a fixed list. \`errors\` lists all errors of the first check that failed, up to 100,
  together at most 120 KiB, each with its location. Values of more than 1 KiB are replaced by a description. Checks run
  in this order: path (404), token (401), permission (403), rate limit (429), syntax (400), shape (422), rules (422),
  record (404). Unknown paths, unknown methods and other users' records return 404.
- **Rate limits** apply per user, with one limit for reads and one for writes, shared by REST and GraphQL. Every
  authenticated request costs at least one point, even if it is invalid. A list costs one point; one that
  ends at its \`limit\` costs one for each 500 records, rounded up. The \`RateLimit-*\` headers show what is left.
- **Headers.** Every response has \`X-Request-Id\`, and every response to an authenticated caller has the \`RateLimit-*\`
  headers. Responses with errors list only their other headers. One with 500 may have \`Retry-After\`.
- **Extensions**, marked with \`x-extension\`, are operations in addition to the specification of the account and
  integrations service, which this API implements.
`.trim();

/** How callers authenticate. */
const bearer = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: `
A JWT signed with EdDSA, ES256, RS256 or PS256 by a key of the configured key set. The claims \`sub\` (the user's ID, 1 to
255 characters) and \`exp\` are required; \`iss\` and \`aud\` must match if they are configured. Membership in an
organization requires the claim \`org_id\`, or another that the operator configured: a non-empty string, or a list of
non-empty strings.

The claims \`scope\` and \`scp\`, or others that the operator configured, name scopes: a string of scopes separated by
spaces, or an array of strings. A token without them, or with sign-in scopes such as \`openid\` only, has full access to
its user's account, unless the operator requires scopes. Any other token has only the scopes that it names:

- \`account:read\`: reading the account.
- \`account:write\`: reading and changing it.
`.trim(),
};

/** The sections of the reference, in order. */
const tags: Readonly<Record<Tag, string>> = {
  Notifications: "The user's inbox, with notifications about tasks.",
  'Notification preferences': 'The channels over which the user receives notifications of each kind.',
  'Editor auth': "The connection of the user's coding editor.",
  Workspaces: "The user's development workspaces.",
};
