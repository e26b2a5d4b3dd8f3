import { z } from 'zod';
import type { Path, ValidationIssue } from '../src/errors/issue.ts';
import { isRecord, valueAt } from '../src/errors/json-path.ts';
import { describeRange, wholeNumberSchema } from '../src/values/constraints.ts';
import {
  type ArgumentSource,
  type Binding,
  isSource,
  listSources,
  type QueryShape,
  type Route,
} from './route.ts';
import { isStrictObject, toCamelCase, unwrap } from './wire.ts';

/** The parts of a request that supply arguments, decoded. */
export type Parts = {
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, readonly string[]>>;
  body: unknown;
};

/** Decodes the parameters of a path that matches the template. Invalid encodings become issues. */
export function parsePathParameters(template: string, pathname: string, issues: ValidationIssue[]) {
  const segments = pathname.split('/');
  const parameters: Record<string, string> = {};
  for (const [index, part] of template.split('/').entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    const segment = segments[index] ?? '';
    if (name === undefined) continue;
    try {
      parameters[name] = decodeURIComponent(segment);
    } catch {
      issues.push({ path: ['path', name], message: 'must be percent-encoded UTF-8', value: segment });
    }
  }
  return parameters;
}

/** The parameters of a page. Both are at most the largest GraphQL `Int`. A list contains all records by default. */
export const pageShapes = { limit: wholeNumberSchema(1), offset: wholeNumberSchema(0) };

/** Parses the query parameters of a route. Unknown parameters are ignored; invalid parameters become issues. */
export function parseQuery({ bind, paged }: Route, sent: URLSearchParams, issues: ValidationIssue[]) {
  const own = listSources(bind).filter((source) => source.from === 'query');
  const shapes = [
    ...own.map(({ name, shape }) => [name, shape] as const),
    ...Object.entries(paged ? pageShapes : {}),
  ];
  const query: Record<string, readonly string[]> = {};
  for (const [name, shape] of shapes) {
    const values = sent.getAll(name);
    if (values.length === 0) continue;
    issues.push(...findIssues(['query', name], shape, values));
    query[name] = [...new Set(values)];
  }
  return query;
}

function findIssues(path: Path, shape: QueryShape | z.ZodInt, values: readonly string[]): ValidationIssue[] {
  if (!(shape instanceof z.ZodEnum) && values.length > 1) {
    return [{ path, message: 'must not be repeated', value: values }];
  }
  return values.flatMap((value) => findMessages(shape, value).map((message) => ({ path, message, value })));
}

/** Returns the messages of the rules that a value breaks. */
function findMessages(shape: QueryShape | z.ZodInt, value: string): string[] {
  if (shape instanceof z.ZodNumber) {
    const isValid = /^\d+$/.test(value) && shape.safeParse(Number(value)).success;
    return isValid ? [] : [describeRange(shape.minValue, shape.maxValue)];
  }
  const issues = shape.safeParse(value).error?.issues ?? [];
  return issues.map(({ message }) =>
    shape instanceof z.ZodEnum ? `must be one of ${shape.options.join(', ')}` : message,
  );
}

/** Converts a checked query to a page. Without `limit` it extends to the end of the list. */
export function toOffsetPage({ limit, offset }: Parts['query']) {
  return { limit: limit && Number(limit[0]), offset: offset && Number(offset[0]) };
}

/** Converts a request to arguments. */
export function bindArguments(binding: Binding, parts: Parts, bodyShape: z.ZodObject | undefined) {
  const entries = Object.entries(binding).map(([name, bound]): [string, unknown] => [
    name,
    isSource(bound) ? bindArgument(bound, parts, bodyShape) : bindArguments(bound, parts, bodyShape),
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function bindArgument(source: ArgumentSource, parts: Parts, bodyShape: z.ZodObject | undefined): unknown {
  switch (source.from) {
    case 'path':
      return parts.path[source.name];
    case 'query': {
      const values = parts.query[source.name];
      return source.shape instanceof z.ZodEnum ? values?.map((word) => word.toUpperCase()) : values?.[0];
    }
    case 'body': {
      const shape = bodyShape?.shape[source.name];
      return shape && toArguments(shape, valueAt(parts.body, [source.name]));
    }
  }
}

/** Converts a checked body to arguments: names in camel case, enum values in upper case. */
export function toArguments(shape: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => toArguments(inner.element, item));
  if (inner instanceof z.ZodEnum) return String(value).toUpperCase();
  if (!isStrictObject(inner) || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(inner.shape)
      .filter(([name]) => value[name] !== undefined)
      .map(([name, item]) => [toCamelCase(name), toArguments(item, value[name])]),
  );
}

/** Converts an argument's path to the location in the request that it came from. */
export function locateArgument(binding: Binding, argument: Path, bodyShape: z.ZodObject | undefined): Path {
  const [step, ...rest] = argument;
  const bound = step === undefined ? undefined : binding[step];
  if (bound === undefined) return ['body'];
  if (!isSource(bound)) return locateArgument(bound, rest, bodyShape);
  if (bound.from !== 'body') return [bound.from, bound.name];
  return ['body', bound.name, ...toBodyPath(bodyShape?.shape[bound.name], rest)];
}

/** Converts the path of an argument back to the path in the body. */
export function toBodyPath(shape: z.core.$ZodType | undefined, path: Path): Path {
  const [step, ...rest] = path;
  if (step === undefined) return [];
  const inner = shape && unwrap(shape);
  if (inner instanceof z.ZodArray) return [step, ...toBodyPath(inner.element, rest)];
  if (!inner || !isStrictObject(inner)) return path;
  const name = Object.keys(inner.shape).find((name) => toCamelCase(name) === step) ?? step;
  return [name, ...toBodyPath(inner.shape[name], rest)];
}
