import { z } from 'zod';
import { isRecord } from '../src/errors/json-path.ts';
import { isStrictObject, toCamelCase, unwrap } from './wire.ts';

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

/** Converts the path of an argument back to the path in the body. */
export function toBodyPath(
  shape: z.core.$ZodType | undefined,
  path: readonly (string | number)[],
): (string | number)[] {
  const [step, ...rest] = path;
  if (step === undefined) return [];
  const inner = shape && unwrap(shape);
  if (inner instanceof z.ZodArray) return [step, ...toBodyPath(inner.element, rest)];
  if (!inner || !isStrictObject(inner)) return [...path];
  const name = Object.keys(inner.shape).find((name) => toCamelCase(name) === step) ?? step;
  return [name, ...toBodyPath(inner.shape[name], rest)];
}
