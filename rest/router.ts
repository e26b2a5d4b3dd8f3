import express, { type RequestHandler } from 'express';
import { type DocumentNode, type ExecutionResult, type GraphQLSchema, parse, validate } from 'graphql';
import { type Access, requireAccess } from '../src/auth/access.ts';
import type { RootValue, ServerContext } from '../src/context.ts';
import { ConflictError } from '../src/errors/gateway-errors.ts';
import { valueAt } from '../src/errors/issue.ts';
import type { GraphQLServer } from '../src/graphql/server.ts';
import { sendJson, toPattern } from '../src/http/messages.ts';
import { contextOf, type IdentifyCaller } from '../src/server/caller.ts';
import { createBinder, createReader, locateError } from './binding.ts';
import { editorAuth } from './editor-auth.ts';
import { createListSender, listArguments, listSelection } from './list.ts';
import { notifications } from './notifications.ts';
import { preferences } from './preferences.ts';
import type { Route } from './route.ts';
import { createSerializer, toSelection } from './wire.ts';
import { workspaces } from './workspaces.ts';

/** Every path of the REST API. */
export const routes: readonly Route[] = [...notifications, ...preferences, ...editorAuth, ...workspaces];

/**
 * Creates the router of the REST API. `publicUrl` returns the URL that links begin with. The operations of its routes run
 * on the plugins of the GraphQL server.
 *
 * Checks run in this order: path (404), token (401), permission (403), rate limit (429), syntax (400), shape (422),
 * rules (422), record (404, 409).
 * @throws {Error} if a route does not fit the schema
 */
export function createRestRouter(
  schema: GraphQLSchema,
  yoga: GraphQLServer,
  identifyCaller: IdentifyCaller,
  publicUrl: () => string,
) {
  const router = express.Router();
  for (const route of routes) {
    const { access, document } = prepareOperation(route, schema);
    router[route.method](
      // Express would decode parameters, and report invalid encodings, before the token is checked.
      toPattern(route.path),
      identifyCaller({ field: route.field, access }),
      handle(route, publicUrl, (args) =>
        yoga.getEnveloped(args.contextValue).execute({ schema, document, ...args }),
      ),
    );
  }
  return router;
}

/** Prepares the operation that a route runs. @throws {Error} if it does not fit the schema */
function prepareOperation(route: Route, schema: GraphQLSchema): { access: Access; document: DocumentNode } {
  const isMutation = schema.getMutationType()?.getFields()[route.field] !== undefined;
  const root = isMutation ? schema.getMutationType() : schema.getQueryType();
  const field = root?.getFields()[route.field];
  const { bind, reply, paged } = route;
  const names = [...Object.keys(bind), ...(paged ? listArguments : [])];
  const used = field?.args.filter(({ name }) => names.includes(name)) ?? [];
  const variables = used.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const given = used.map(({ name }) => `${name}: $${name}`).join(', ');
  const content = toSelection(reply.shape);
  const selected =
    reply.from === undefined ? content : `{ ${reply.from} ${content} ${paged ? listSelection : ''} }`;
  const selection = reply.union ? toUnionSelection(reply.union, selected) : selected;
  const text = `${isMutation ? 'mutation' : 'query'} ${route.field}${variables && `(${variables})`} { ${route.field}${given && `(${given})`} ${selection} }`;
  const document = parse(text);
  const [error] = validate(schema, document);
  if (error !== undefined) throw new Error(`${error.message} In: ${text}`);
  return { access: requireAccess(route.field, field?.extensions), document };
}

function toUnionSelection({ type, conflict }: Union, selected: string): string {
  return `{ __typename ... on ${type} ${selected} ... on ${conflict.type} ${toSelection(conflict.shape)} }`;
}

type Union = NonNullable<Route['reply']['union']>;

/** @throws {ConflictError} if a root field returned the type that is a conflict */
function refuseConflict({ conflict: { type, shape, message, toValue } }: Union, result: unknown): void {
  if (valueAt(result, ['__typename']) !== type) return;
  const value = toValue(createSerializer(shape)(result));
  const issue = { path: ['body'], message: 'comes after the request was settled', value, isOwn: true };
  throw new ConflictError(null, message, [issue]);
}

/** Executes the operation of a route. */
type Execute = (args: {
  contextValue: ServerContext;
  variableValues: Record<string, unknown>;
  rootValue: RootValue;
}) => PromiseLike<ExecutionResult> | ExecutionResult;

/** Creates the handler of a route. */
function handle(route: Route, publicUrl: () => string, execute: Execute): RequestHandler {
  const { field, reply, paged } = route;
  const { status = 200 } = reply;
  const readParts = createReader(route);
  const bind = createBinder(route.bind, route.body);
  const serialize = createSerializer(reply.shape);
  const sendList = paged && createListSender(route, paged, serialize, publicUrl);

  return async (request, response) => {
    const parts = await readParts(request, contextOf(response));
    const run = async (page: object = {}) => {
      const { data, errors: [error] = [] } = await execute({
        contextValue: { req: request, res: response },
        variableValues: { ...bind(parts), ...page },
        rootValue: fromRest,
      });
      if (error !== undefined) throw locateError(error, route, parts);
      return valueAt(data, [field]);
    };
    if (sendList) return sendList(request, response, parts, run);
    const result = await run();
    if (reply.union) refuseConflict(reply.union, result);
    const content = serialize(reply.from === undefined ? result : valueAt(result, [reply.from]));
    sendJson(response, status, reply.name === undefined ? content : { [reply.name]: content });
  };
}

const fromRest: RootValue = { via: 'rest' };
