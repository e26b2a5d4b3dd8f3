import type { z } from 'zod';
import { type Path, REDACTED, type ValidationIssue } from './gateway-errors.ts';

/**
 * The broken rules of a zod check as issues below `root`. Messages are made here from path and rule: a library's own
 * may repeat the value.
 */
export function* toIssues(
  { error }: Pick<z.ZodSafeParseResult<unknown>, 'error'>,
  value: unknown,
  root: Path = [],
  inspect: (path: Path) => Place = (path) => ({ isSecret: false, declaredSteps: path.length }),
): Generator<ValidationIssue> {
  for (const issue of error?.issues ?? []) {
    const unknownSteps = issue.code === 'unrecognized_keys' ? 1 : 0;
    for (const path of issuePaths(issue)) {
      const sent = valueAt(value, path);
      const { isSecret, declaredSteps } = inspect(path);
      yield {
        path: [...root, ...path],
        message: describeIssue(issue, sent),
        value: sent === undefined ? null : isSecret ? REDACTED : sent,
        callerSteps: Math.max(unknownSteps, path.length - declaredSteps),
      };
    }
  }
}

/** What is known of a place in an input. */
export type Place = {
  /** Whether the value there must not be shown. */
  readonly isSecret: boolean;
  /** How many steps of the path are named by the schema; the others are keys that the caller chose. */
  readonly declaredSteps: number;
};

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of a JSON value; undefined if there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((parent, step) => {
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, step)) return undefined;
    return Reflect.get(parent, step);
  }, value);
}

function* issuePaths(issue: z.core.$ZodIssue): Generator<Path> {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  if (issue.code !== 'unrecognized_keys') yield path;
  else for (const key of issue.keys) yield [...path, key];
}

function describeIssue(issue: z.core.$ZodIssue, sent: unknown): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'is not a known property';
    case 'invalid_type':
      return sent === undefined ? 'is required' : `must be ${withArticle(issue.expected)}`;
    case 'invalid_value':
      return sent === undefined ? 'is required' : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return issue.origin === 'array' ? tooManyItems(issue.maximum) : issue.message;
    case 'too_small':
    case 'custom':
      return issue.message;
    default:
      return 'is not valid';
  }
}

/** The message of a list that is too long. */
export function tooManyItems(maximum: number | bigint): string {
  return `must have at most ${maximum} items`;
}

function withArticle(expected: string): string {
  switch (expected) {
    case 'array':
    case 'object':
      return `an ${expected}`;
    case 'int':
      return 'a whole number';
    default:
      return `a ${expected}`;
  }
}
