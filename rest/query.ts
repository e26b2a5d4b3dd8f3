import { z } from 'zod';
import type { ValidationIssue } from '../src/errors/issue.ts';
import { describeRange, wholeNumberSchema } from '../src/values/constraints.ts';
import { type ArgumentSource, type Binding, listSources } from './argument-sources.ts';

type QuerySource = Extract<ArgumentSource, { from: 'query' }>;

const NOT_REPEATED = 'must not be repeated';

/** The parameters of a page. Both are at most the largest GraphQL `Int`. A list contains all records by default. */
export const pageShapes = { limit: wholeNumberSchema(1), offset: wholeNumberSchema(0) };

/** Parses the query parameters of a route. Unknown parameters are ignored; invalid parameters become issues. */
export function parseQuery(
  { bind, paged }: { bind: Binding; paged?: boolean },
  sent: URLSearchParams,
  issues: ValidationIssue[],
): Record<string, readonly string[]> {
  const query: Record<string, readonly string[]> = {};
  for (const source of listSources(bind)) {
    if (source.from !== 'query' || !sent.has(source.name)) continue;
    const values = sent.getAll(source.name);
    issues.push(...findIssues(source, values));
    query[source.name] = [...new Set(values)];
  }
  if (paged) {
    Object.assign(query, wholeNumber('limit', sent, issues), wholeNumber('offset', sent, issues));
  }
  return query;
}

function findIssues({ name, shape }: QuerySource, values: readonly string[]): ValidationIssue[] {
  const path = ['query', name];
  const isList = shape instanceof z.ZodEnum;
  if (!isList && values.length > 1) return [{ path, message: NOT_REPEATED, value: values }];
  return values.flatMap((value) => {
    const issues = shape.safeParse(value).error?.issues ?? [];
    return issues.map(({ message }) => ({
      path,
      message: isList ? `must be one of ${shape.options.join(', ')}` : message,
      value,
    }));
  });
}

/** Converts a checked query to a page. Without `limit` it extends to the end of the list. */
export function toOffsetPage({ limit, offset }: Readonly<Record<string, readonly string[]>>) {
  return { limit: toNumber(limit), offset: toNumber(offset) };
}

function wholeNumber(name: keyof typeof pageShapes, sent: URLSearchParams, issues: ValidationIssue[]) {
  const values = sent.getAll(name);
  const [value] = values;
  if (value === undefined) return {};
  if (values.length > 1) {
    issues.push({ path: ['query', name], message: NOT_REPEATED, value: values });
  } else if (!/^\d+$/.test(value) || !pageShapes[name].safeParse(Number(value)).success) {
    const { minValue, maxValue } = pageShapes[name];
    issues.push({ path: ['query', name], message: describeRange(minValue, maxValue), value });
  }
  return { [name]: values };
}

function toNumber(values: readonly string[] | undefined): number | undefined {
  return values?.[0] === undefined ? undefined : Number(values[0]);
}
