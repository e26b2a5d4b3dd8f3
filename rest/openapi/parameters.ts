import { z } from 'zod';
import { idSchema } from '../../src/values/constraints.ts';
import { type ArgumentSource, listSources } from '../argument-sources.ts';
import { pageShapes } from '../query.ts';
import type { Route } from '../route.ts';
import { type Json, reference, referenceComponent, toSchema } from './schemas.ts';

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

/** Describes the parameters of a route. Unknown query parameters are ignored. */
export function describeParameters({ bind, paged }: Route): readonly Json[] {
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
      return { name, in: 'query', description, schema: describeQuery(source.shape) };
  }
}

function describeQuery(shape: z.ZodEnum | z.ZodString): Json {
  if (shape instanceof z.ZodEnum) return { type: 'array', items: referenceComponent(shape) };
  return toSchema(shape);
}
