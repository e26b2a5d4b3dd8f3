import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { Context } from '../src/context.ts';
import { BadRequestError, REDACTED, ValidationError } from '../src/errors/gateway-errors.ts';
import { summarizeIssues, type ValidationIssue } from '../src/errors/issue.ts';
import { valueAt } from '../src/errors/json-path.ts';
import { toIssues } from '../src/errors/validation-issues.ts';
import type { Engine } from '../src/graphql/execution/engine.ts';
import type { PreparedOperation } from '../src/graphql/execution/prepared-operation.ts';
import { matchesEntityTag } from '../src/http/entity-tags.ts';
import { readJson } from '../src/http/read-json.ts';
import { requestPath, requestQuery } from '../src/http/request-target.ts';
import {
  bindArguments,
  locateArgument,
  type Parts,
  parsePathParameters,
  parseQuery,
  toOffsetPage,
} from './binding.ts';
import type { Route } from './route.ts';
import { containsSecret, createSerializer, toSelection } from './wire.ts';

type RouteReply = { status: 200 | 204 | 304; body: unknown };

/**
 * Handles a request that matches a route.
 * @throws {GatewayError} whose issues are located in the HTTP request (`path.id`), not in the arguments
 */
type HandleRoute = (
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
) => Promise<RouteReply>;

/**
 * Binds a route to the schema.
 * @throws {Error} if the GraphQL document of the route does not fit the schema
 */
export function bindRoute(
  definition: Route,
  schema: GraphQLSchema,
  engine: Pick<Engine, 'prepare'>,
): HandleRoute {
  const operation = engine.prepare(writeDocument(definition, schema));
  const serializeReply = createReplySerializer(definition);
  return async (request, response, context) => {
    context.operations.add(definition.field);
    operation.authorize(context.viewer);
    await operation.prepay(context);
    const parts = await readParts(definition, request);
    checkShape(definition, parts);
    if (!definition.paged) return serializeReply(await runOperation(definition, operation, parts, context));
    const matchesKnownTag = readIfNoneMatch(request);
    const restPage = { page: toOffsetPage(parts.query), ...(matchesKnownTag && { matchesKnownTag }) };
    const data = await runOperation(definition, operation, parts, { ...context, restPage });
    operation.chargeRecords(context, countRecords(data, definition));
    const etag = String(valueAt(data, ['etag']));
    response.setHeader('ETag', etag).setHeader('Cache-Control', 'private, no-cache');
    response.appendHeader('Vary', 'Authorization');
    return matchesKnownTag?.(etag) ? { status: 304, body: undefined } : serializeReply(data);
  };
}

/**
 * Returns the function that checks whether `If-None-Match` contains a given entity tag; undefined without the header.
 */
function readIfNoneMatch({ headers }: IncomingMessage): ((etag: string) => boolean) | undefined {
  const known = headers['if-none-match'];
  return known === undefined ? undefined : (etag) => matchesEntityTag(known, etag);
}

function writeDocument({ field, bind, reply, paged }: Route, schema: GraphQLSchema): string {
  const [keyword, root] = schema.getMutationType()?.getFields()[field]
    ? ['mutation', schema.getMutationType()]
    : ['query', schema.getQueryType()];
  const used = root?.getFields()[field]?.args.filter(({ name }) => name in bind) ?? [];
  const variables = used.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const given = used.map(({ name }) => `${name}: $${name}`).join(', ');
  const content = toSelection(reply.shape);
  const selection =
    reply.from === undefined ? content : `{ ${paged ? 'etag ' : ''}${reply.from} ${content} }`;
  return `${keyword} ${field}${variables && `(${variables})`} { ${field}${given && `(${given})`} ${selection} }`;
}

async function readParts(definition: Route, request: IncomingMessage): Promise<Parts> {
  const issues: ValidationIssue[] = [];
  const parts = {
    path: parsePathParameters(definition.path, requestPath(request), issues),
    query: parseQuery(definition, requestQuery(request), issues),
  };
  if (issues.length > 0) throw new BadRequestError(summarizeIssues(issues), issues);
  return { ...parts, body: definition.body && (await readJson(request)) };
}

function checkShape({ body: shape }: Route, { body }: Parts): void {
  if (shape === undefined) return;
  const checked = shape.safeParse(body);
  if (!checked.success)
    throw new ValidationError(
      toIssues(checked, body, ['body'], (path) => ({
        // The caller may have sent the credential under a wrong name.
        isSecret: containsSecret(shape),
        knownKeyCount: path.length,
      })),
    );
}

/** Runs the operation. Errors of an argument are reported at the part of the request that it came from. */
async function runOperation(
  { bind, body, field }: Route,
  operation: PreparedOperation,
  parts: Parts,
  context: Context,
) {
  try {
    const data = await operation.run(bindArguments(bind, parts, body), context);
    return data[field];
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new ValidationError(
      error.issues.map(({ path, message, value }) => {
        const place = locateArgument(bind, path, body);
        return { path: place, message, value: value === REDACTED ? value : (valueAt(parts, place) ?? null) };
      }),
    );
  }
}

function countRecords(data: unknown, { reply: { from } }: Route): number {
  const records = from === undefined ? data : valueAt(data, [from]);
  return Array.isArray(records) ? records.length : 0;
}

/** Creates the function that converts the root field's result to the route's reply. */
function createReplySerializer({
  reply: { status, name, from, shape },
}: Route): (data: unknown) => RouteReply {
  const serialize = createSerializer(shape);
  return (data) => {
    const content = serialize(from === undefined ? data : valueAt(data, [from]));
    return { status, body: name === undefined ? content : { [name]: content } };
  };
}
