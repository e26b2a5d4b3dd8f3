import { z } from 'zod';
import { type ArgumentSource, type Binding, listSources } from '../../rest/argument-sources.ts';
import { pageShapes } from '../../rest/query.ts';
import type { Route } from '../../rest/route.ts';
import { type Access, describeAccess } from '../auth/access.ts';
import { idSchema } from '../values/constraints.ts';
import { describeErrors, listErrorCodes } from './errors.ts';
import { describeJson, quota, toHeaderRefs } from './responses.ts';
import { type Json, reference, referenceComponent, toPascalCase, toSchema } from './schemas.ts';

/** Lists the shapes of a route's bodies by the names that {@link describeOperation} uses. */
export function listShapes({
  field,
  summary,
  bind,
  body,
  reply,
}: Route): Readonly<Record<string, z.ZodType>> {
  const replyShape =
    reply.name === undefined
      ? reply.shape
      : z
          .strictObject({ [reply.name]: reply.shape.describe(reply.description) })
          .meta({ id: `${toPascalCase(field)}Reply`, description: `Response body of "${summary}".` });
  return {
    ...(body && { [`${field}.request`]: body }),
    ...(reply.status === 200 && { [`${field}.reply`]: replyShape }),
    ...listEnums(bind),
  };
}

/**
 * Lists the enums of query parameters. An enum that no reply contains would otherwise be missing from the components.
 */
function listEnums(bind: Binding): Record<string, z.ZodType> {
  const shapes = listSources(bind).flatMap((source) => (source.from === 'query' ? [source.shape] : []));
  const enums = shapes.filter((shape) => shape instanceof z.ZodEnum);
  return Object.fromEntries(enums.map((shape) => [`query.${shape.meta()?.id}`, shape]));
}

/** Describes a route as an Operation object. */
export function describeOperation(
  route: Route,
  access: Access,
  schemas: Readonly<Record<string, Json>>,
): Json {
  const parameters = describeParameters(route);
  return {
    operationId: route.field,
    tags: [route.tag],
    summary: route.summary,
    description: [
      route.description,
      `${describeAccess(access)} Counts against the rate limit for ${access.bucket}.`,
      ...(route.isExtension ? [EXTENSION] : []),
    ].join('\n\n'),
    ...(route.isExtension && { 'x-extension': true }),
    security: [{ bearer: [access.scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: { required: true, content: describeBody(`${route.field}.request`, schemas) },
    }),
    responses: {
      [route.reply.status]: describeSuccess(route, schemas),
      ...(route.paged && { 304: reference('responses', 'NotModified') }),
      ...Object.fromEntries(
        [...listErrorCodes(route, access)].map(([status, codes]) => [
          status,
          describeErrors(route.field, codes),
        ]),
      ),
    },
  };
}

const EXTENSION = 'This operation is an extension: the specification does not define it.';

function describeSuccess({ field, reply, paged }: Route, schemas: Readonly<Record<string, Json>>): Json {
  return {
    description: reply.description,
    headers: toHeaderRefs(...quota, ...(paged ? (['ETag', 'Cache-Control'] as const) : [])),
    ...(reply.status === 200 && { content: describeBody(`${field}.reply`, schemas) }),
  };
}

function describeBody(name: string, schemas: Readonly<Record<string, Json>>): Json {
  return describeJson(schemas[name], name);
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
    description: 'The number of records to skip.',
    schema: { ...toSchema(pageShapes.offset), default: 0 },
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
  switch (source.from) {
    case 'path':
      return { name, in: 'path', required: true, description, schema: toSchema(idSchema) };
    case 'query':
      return {
        name,
        in: 'query',
        description,
        schema:
          source.shape instanceof z.ZodEnum
            ? { type: 'array', items: referenceComponent(source.shape) }
            : toSchema(source.shape),
      };
  }
}
