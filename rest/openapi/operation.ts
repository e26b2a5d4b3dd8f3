import { z } from 'zod';
import { type Access, describeAccess } from '../../src/auth/access.ts';
import { type Binding, listSources } from '../argument-sources.ts';
import type { Route } from '../route.ts';
import { toPascalCase } from './error-shapes.ts';
import { describeErrors, listErrorCodes } from './errors.ts';
import { pickExamples } from './examples.ts';
import { quota, toHeaderRefs } from './headers.ts';
import { describeParameters } from './parameters.ts';
import { type Json, reference } from './schemas.ts';

/** The response if the client has the current list. */
export const notModified = {
  description:
    'The list has not changed since the `ETag` in `If-None-Match`. There is no body. The request counts as a read.',
  headers: toHeaderRefs(...quota, 'ETag', 'Cache-Control'),
};

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
      requestBody: { required: true, content: describeContent(`${route.field}.request`, schemas) },
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
    ...(reply.status === 200 && { content: describeContent(`${field}.reply`, schemas) }),
  };
}

function describeContent(name: string, schemas: Readonly<Record<string, Json>>): Json {
  return { 'application/json': { schema: schemas[name], examples: pickExamples(name) } };
}
