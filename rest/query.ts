import { z } from 'zod';
import type { ValidationIssue } from '../src/errors/issue.ts';
import { findUnknownParameters } from '../src/http/messages.ts';
import { describeRange, wholeNumberSchema } from '../src/values/constraints.ts';
import { parsePosition } from '../src/values/cursor.ts';
import { listSources, type QueryShape, type Route } from './route.ts';

/** Query parameters by name, decoded, each with its values. */
export type Query = Readonly<Record<string, readonly string[]>>;

/** The parameters of a page. Numbers are at most the largest GraphQL `Int`. A list contains all records by default. */
export const pageShapes = { limit: wholeNumberSchema(1), offset: wholeNumberSchema(0), after: z.string() };

type QueryParameter = { name: string; shape: QueryShape | z.ZodInt };

/**
 * Creates the function that reads the query parameters of a route; `undefined` if it ignores all. Invalid parameters become
 * issues. Unknown ones are ignored on the paths of the specification, and become issues on the paths of extensions.
 */
export function createQueryReader({ bind, paged, isExtension = false }: Route) {
  const own = listSources(bind).filter((source) => source.from === 'query');
  const isCursor = (cursor: string) => {
    const position = parsePosition(cursor);
    return position?.userId === undefined && paged?.isId(position?.id ?? '') === true;
  };
  const after = pageShapes.after.refine(isCursor, 'must be a cursor of this list');
  const page = Object.entries(paged ? { ...pageShapes, after } : {}).map(([name, shape]) => ({
    name,
    shape,
  }));
  const declared: readonly QueryParameter[] = [...own, ...page];
  if (declared.length === 0 && !isExtension) return undefined;
  const names = declared.map(({ name }) => name);
  return (sent: URLSearchParams, issues: ValidationIssue[]): Query => {
    if (isExtension) issues.push(...findUnknownParameters(names, sent));
    const query: Record<string, readonly string[]> = {};
    for (const parameter of declared) {
      const values = sent.getAll(parameter.name);
      if (values.length === 0) continue;
      issues.push(...findIssues(parameter, values));
      query[parameter.name] = [...new Set(values)];
    }
    if (paged && query.after && query.offset)
      issues.push({
        path: ['query', 'after'],
        message: 'must not be combined with offset',
        value: query.after[0],
      });
    return query;
  };
}

function findIssues({ name, shape }: QueryParameter, values: readonly string[]): ValidationIssue[] {
  const path = ['query', name];
  if (values.length > 1 && !(shape instanceof z.ZodEnum))
    return [{ path, message: 'must not be repeated', value: values }];
  return values.flatMap((value) => findMessages(shape, value).map((message) => ({ path, message, value })));
}

/** Returns the messages of the rules that a value breaks. */
function findMessages(shape: QueryParameter['shape'], value: string): string[] {
  if (shape instanceof z.ZodNumber) {
    const isValid = /^\d+$/.test(value) && shape.safeParse(Number(value)).success;
    return isValid ? [] : [describeRange(shape.minValue, shape.maxValue)];
  }
  const issues = shape.safeParse(value).error?.issues ?? [];
  return issues.map(({ message }) =>
    shape instanceof z.ZodEnum ? `must be one of ${shape.options.join(', ')}` : message,
  );
}

/** The part of a list that a query selects. Without `limit` it extends to the end of the list. */
export type ListPart = {
  limit?: number | undefined;
  offset?: number | undefined;
  after?: string | undefined;
};

/** Converts a checked query to the part of the list that it selects. */
export function toListPart({ limit, offset, after }: Query): ListPart {
  return { limit: limit && Number(limit[0]), offset: offset && Number(offset[0]), after: after?.[0] };
}

/** Formats the query of the page after a cursor, with the other parameters of the current one. */
export function formatNextQuery(query: Query, cursor: string): string {
  const kept = Object.entries(query).filter(([name]) => name !== 'after' && name !== 'offset');
  const pairs = kept.flatMap(([name, values]) => values.map((value) => [name, value]));
  return new URLSearchParams([...pairs, ['after', cursor]]).toString();
}
