import type { z } from 'zod';
import { REDACTED } from './gateway-errors.ts';
import type { Path, ValidationIssue } from './issue.ts';
import { valueAt } from './issue.ts';

/**
 * Converts the issues of a zod check to issues below `root`. Messages are composed from the rule, because zod's own may
 * repeat the value.
 */
export function* toIssues(
  { error }: Pick<z.ZodSafeParseResult<unknown>, 'error'>,
  value: unknown,
  root: Path = [],
  inspect: (path: Path) => PathInfo = (path) => ({ isSecret: false, knownKeyCount: path.length }),
): Generator<ValidationIssue> {
  for (const issue of error?.issues ?? []) {
    for (const path of listPaths(issue)) {
      const sent = valueAt(value, path);
      const { isSecret, knownKeyCount } = inspect(path);
      yield {
        path: [...root, ...path],
        message: describeIssue(issue, sent),
        value: sent === undefined ? null : isSecret ? REDACTED : sent,
        // The client did not choose the name of what is missing.
        unknownKeyCount:
          sent === undefined
            ? 0
            : Math.max(issue.code === 'unrecognized_keys' ? 1 : 0, path.length - knownKeyCount),
      };
    }
  }
}

/** What the schema declares about a path of an input. */
export type PathInfo = {
  /** Whether the value must not be shown. */
  readonly isSecret: boolean;
  /** The number of keys at the start of the path that are in the schema; the client chose the others. */
  readonly knownKeyCount: number;
};

function* listPaths(issue: z.core.$ZodIssue): Generator<Path> {
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
      return issue.origin === 'array' ? describeTooManyItems(issue.maximum) : issue.message;
    case 'too_small':
    case 'custom':
      return issue.message;
    default:
      return 'is not valid';
  }
}

/** Returns the message for a list that is too long. */
export function describeTooManyItems(maximum: number | bigint): string {
  return `must have at most ${maximum} items`;
}

function withArticle(expected: string): string {
  switch (expected) {
    case 'array':
    case 'object':
      return `an ${expected}`;
    case 'record':
      return 'an object';
    case 'int':
      return 'a whole number';
    default:
      return `a ${expected}`;
  }
}
