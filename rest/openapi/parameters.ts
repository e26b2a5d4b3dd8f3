import { z } from 'zod';
import { idSchema } from '../../src/values/constraints.ts';
import { listSources, type Source } from '../binding.ts';
import { pageShapes } from '../query.ts';
import type { Route } from '../route.ts';
import { componentRef, type Json, reference, toSchema } from './schemas.ts';

/** The parameters that all lists have. */
export const listParameters = {
  Limit: {
    name: 'limit',
    in: 'query',
    description: 'How many items at most; without it all.',
    schema: toSchema(pageShapes.limit),
  },
  Offset: {
    name: 'offset',
    in: 'query',
    description: 'How many items to leave out at the start.',
    schema: { ...toSchema(pageShapes.offset), default: 0 },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of a list that the caller has: where it is still that one, the reply is a 304.',
    schema: { type: 'string' },
  },
};

/** The parameters of a route; query parameters that it does not know are ignored. */
export function describeParameters({ bind, paged }: Route): readonly Json[] {
  const own = listSources(bind).filter((source) => source.from !== 'body');
  return [
    ...own.map(describeParameter),
    ...(paged ? Object.keys(listParameters).map((name) => reference('parameters', name)) : []),
  ];
}

function describeParameter(source: Exclude<Source, { from: 'body' }>): Json {
  const { name, description } = source;
  switch (source.from) {
    case 'path':
      return { name, in: 'path', required: true, description, schema: toSchema(idSchema) };
    case 'query':
      return { name, in: 'query', description, schema: describeQuery(source.shape) };
  }
}

function describeQuery(shape: z.ZodEnum | z.ZodString): Json {
  if (shape instanceof z.ZodEnum) return { type: 'array', items: componentRef(shape) };
  return toSchema(shape);
}
