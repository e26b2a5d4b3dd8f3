import { z } from 'zod';
import { pageShapes } from '../../rest/query.ts';
import { type ArgumentSource, getOperationId, listSources, type Route } from '../../rest/route.ts';
import { toPascalCase } from '../../rest/wire.ts';
import { type Access, describeAccess } from '../auth/access.ts';
import { idSchema } from '../values/constraints.ts';
import { describeErrors } from './errors.ts';
import { describeJson, everyReply, toHeaderRefs } from './responses.ts';
import { type Json, reference, referenceComponent, toSchema } from './schemas.ts';

/** Lists the shapes of a route's bodies by the names that {@link describeOperation} uses. */
export function listShapes(route: Route): Record<string, z.ZodType> {
  const { summary, body, reply } = route;
  const { name, shape, description } = reply;
  const key = nameReply(route);
  const metadata = { id: `${toPascalCase(key)}Reply`, description: `Response body of "${summary}".` };
  const replyShape = name ? z.strictObject({ [name]: shape.describe(description) }).meta(metadata) : shape;
  return {
    ...(body && { [`${getOperationId(route)}.request`]: body }),
    ...(reply.status !== 204 && { [`${key}.reply`]: replyShape }),
  };
}

/** Replies of the same root field are equal, but for lists of different records. */
const nameReply = ({ field, paged, reply: { name = field } }: Route) => (paged ? name : field);

/** Describes a route as an Operation object. */
export function describeOperation(route: Route, access: Access, schemas: Record<string, Json>): Json {
  const { reply, paged, isExtension } = route;
  const parameters = describeParameters(route);
  const operationId = getOperationId(route);
  const request = `${operationId}.request`;
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [
      route.description,
      `${describeAccess(access)} Counts against the rate limit for ${access.bucket}.`,
      ...(isExtension ? ['This operation is an extension: the specification does not define it.'] : []),
    ].join('\n\n'),
    ...(isExtension && { 'x-extension': true }),
    security: [{ bearer: [access.scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && { requestBody: { required: true, content: describeJson(schemas[request], request) } }),
    responses: {
      [reply.status ?? 200]: {
        description: reply.description,
        headers: toHeaderRefs(...everyReply, ...(paged ? (['ETag', 'Cache-Control', 'Link'] as const) : [])),
        ...(reply.status !== 204 && {
          content: describeJson(schemas[`${nameReply(route)}.reply`], `${operationId}.reply`),
        }),
      },
      ...(paged && { 304: reference('responses', 'NotModified') }),
      ...describeErrors(route, access),
    },
  };
}

/** The parameters of every paged list. */
export const listParameters = {
  Limit: {
    name: 'limit',
    in: 'query',
    description: 'The maximum number of records to return. Defaults to all.',
    schema: toSchema(pageShapes.limit),
  },
  Offset: {
    name: 'offset',
    in: 'query',
    description:
      'The number of records to skip. Records that leave the list or its filter meanwhile move the others; `after` does not skip any.',
    schema: { ...toSchema(pageShapes.offset), default: 0 },
  },
  After: {
    name: 'after',
    in: 'query',
    description:
      'A cursor: returns only records after it. It comes from the `Link` of the previous page. Cannot be combined with `offset`.',
    schema: toSchema(pageShapes.after),
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'An `ETag` from an earlier response. If the list is unchanged, the response is 304.',
    schema: { type: 'string' },
  },
};

function describeParameters({ bind, paged }: Route): readonly Json[] {
  const own = listSources(bind).filter((source) => source.from !== 'body');
  return [
    ...own.map(describeParameter),
    ...(paged ? Object.keys(listParameters).map((name) => reference('parameters', name)) : []),
  ];
}

function describeParameter(source: Exclude<ArgumentSource, { from: 'body' }>): Json {
  const { name, description } = source;
  if (source.from === 'path')
    return { name, in: 'path', required: true, description, schema: toSchema(idSchema) };
  const { shape } = source;
  const isList = shape instanceof z.ZodEnum;
  const schema = isList ? { type: 'array', items: referenceComponent(shape) } : toSchema(shape);
  return { name, in: 'query', description, schema };
}
