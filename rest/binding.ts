import type { Request } from 'express';
import { z } from 'zod';
import type { Context } from '../src/context.ts';
import {
  BadRequestError,
  ConflictError,
  type GatewayError,
  REDACTED,
  ValidationError,
} from '../src/errors/gateway-errors.ts';
import { type Path, summarizeIssues, type ValidationIssue, valueAt } from '../src/errors/issue.ts';
import { toIssues } from '../src/errors/validation-issues.ts';
import { asGatewayError } from '../src/graphql/errors.ts';
import { requestQuery } from '../src/http/messages.ts';
import { readJson } from '../src/http/read-body.ts';
import { createQueryReader, type Query } from './query.ts';
import { type ArgumentSource, type Binding, isSource, type Route } from './route.ts';
import { containsSecret, isStrictObject, toArguments, toCamelCase, unwrap } from './wire.ts';

/** The parts of a request that supply arguments, decoded. */
export type Parts = {
  path: Readonly<Record<string, string>>;
  query: Query;
  body: unknown;
};

/**
 * Creates the function that reads what a route needs of a request, and checks the shape of the body.
 * @throws {BadRequestError} if a part cannot be read
 * @throws {ValidationError} if the body does not have the shape
 */
export function createReader(route: Route): (request: Request, context: Context) => Promise<Parts> {
  const pathNames = listPathParameters(route.path);
  const readQuery = createQueryReader(route);
  return async (request, context) => {
    const issues: ValidationIssue[] = [];
    const path = parsePathParameters(pathNames, request.path, issues);
    const query = readQuery?.(requestQuery(request), issues) ?? {};
    if (issues.length > 0) throw new BadRequestError(summarizeIssues(issues), issues);
    if (route.body === undefined) return { path, query, body: undefined };
    const body = await readJson(request, context);
    const checked = route.body.safeParse(body);
    if (checked.success) return { path, query, body };
    // The caller may have sent a credential under a wrong name.
    const isSecret = containsSecret(route.body);
    const inspect = ({ length }: Path) => ({ isSecret, knownKeyCount: length });
    throw new ValidationError(toIssues(checked, body, ['body'], inspect));
  };
}

/** Lists the names of a template's parameters, and the positions of their segments. */
function listPathParameters(template: string): { name: string; position: number }[] {
  return template.split('/').flatMap((part, position) => {
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
    return name === undefined ? [] : [{ name, position }];
  });
}

/** Decodes the parameters of a path. Invalid encodings become issues. */
function parsePathParameters(
  names: ReturnType<typeof listPathParameters>,
  pathname: string,
  issues: ValidationIssue[],
): Record<string, string> {
  const parameters: Record<string, string> = {};
  for (const { name, position } of names) {
    const segment = pathname.split('/')[position] ?? '';
    try {
      parameters[name] = decodeURIComponent(segment);
    } catch {
      issues.push({ path: ['path', name], message: 'must be percent-encoded UTF-8', value: segment });
    }
  }
  return parameters;
}

/** Creates the function that converts a request to arguments. */
export function createBinder(binding: Binding, bodyShape: z.ZodObject | undefined) {
  const members = Object.entries(binding).map(([name, bound]) => ({
    name,
    read: isSource(bound) ? readSource(bound, bodyShape) : createBinder(bound, bodyShape),
  }));
  return (parts: Parts): Record<string, unknown> => {
    const values: Record<string, unknown> = {};
    for (const { name, read } of members) {
      const value = read(parts);
      if (value !== undefined) values[name] = value;
    }
    return values;
  };
}

function readSource(source: ArgumentSource, bodyShape: z.ZodObject | undefined): (parts: Parts) => unknown {
  const { name } = source;
  switch (source.from) {
    case 'path':
      return ({ path }) => path[name];
    case 'query':
      return source.shape instanceof z.ZodEnum
        ? ({ query }) => (query[name] ?? source.otherwise)?.map((word) => word.toUpperCase())
        : ({ query }) => query[name]?.[0];
    case 'body': {
      const shape = bodyShape?.shape[name];
      return ({ body }) => shape && toArguments(shape, valueAt(body, [name]));
    }
  }
}

/** Returns the error of an operation that a route ran, with its items located in the request. */
export function locateError(error: unknown, { bind, body }: Route, parts: Parts): GatewayError {
  const shown = asGatewayError(error);
  const issues = shown.issues.map(({ path, message, value }) => {
    const place = locateArgument(bind, path, body);
    return { path: place, message, value: value === REDACTED ? value : (valueAt(parts, place) ?? null) };
  });
  if (shown instanceof ConflictError) return new ConflictError(shown.reason, shown.message, issues);
  return shown instanceof ValidationError ? new ValidationError(issues) : shown;
}

/** Converts an argument's path to the location in the request that it came from. */
function locateArgument(binding: Binding, argument: Path, bodyShape: z.ZodObject | undefined): Path {
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
