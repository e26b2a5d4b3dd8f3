import { z } from 'zod';
import type { Path } from '../src/errors/issue.ts';
import { valueAt } from '../src/errors/json-path.ts';
import { toArguments, toBodyPath } from './body-arguments.ts';

/** The parts of a request that supply arguments, decoded. */
export type Parts = {
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, readonly string[]>>;
  body: unknown;
};

/** A repeatable enum, or a single string. */
type QueryShape = z.ZodEnum | z.ZodString;

/** Where an argument comes from. */
export type ArgumentSource =
  | { from: 'path'; name: string; description: string }
  | { from: 'query'; name: string; shape: QueryShape; description: string }
  | { from: 'body'; name: string };

/** The sources of the arguments, nested as the arguments are. */
export type Binding = { readonly [argument: string]: ArgumentSource | Binding };

/** A path parameter. */
export function path(name: string, description: string): ArgumentSource {
  return { from: 'path', name, description };
}

/** A query parameter. A parameter whose values are an enum can be repeated. */
export function query(name: string, shape: QueryShape, description: string): ArgumentSource {
  return { from: 'query', name, shape, description };
}

/** A property of the body. */
export function body(name: string): ArgumentSource {
  return { from: 'body', name };
}

/** Lists the sources of a binding, including nested sources. */
export function listSources(binding: Binding): ArgumentSource[] {
  return Object.values(binding).flatMap((bound) => (isSource(bound) ? [bound] : listSources(bound)));
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
    case 'query':
      return bindQuery(source.shape, parts.query[source.name]);
    case 'body': {
      const sent = valueAt(parts.body, [source.name]);
      const shape = bodyShape?.shape[source.name];
      return shape === undefined ? undefined : toArguments(shape, sent);
    }
  }
}

function bindQuery(shape: QueryShape, values: readonly string[] | undefined): unknown {
  return shape instanceof z.ZodEnum ? values?.map((word) => word.toUpperCase()) : values?.[0];
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

/** Only a source has a string as `from`: the binding of an argument named `from` is an object. */
function isSource(bound: ArgumentSource | Binding): bound is ArgumentSource {
  return typeof bound.from === 'string';
}
