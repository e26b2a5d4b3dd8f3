import type { z } from 'zod';
import { type Fault, type Path, REDACTED } from './errors.ts';

/**
 * Every broken rule of a zod check as a fault below `root`. Messages are made here from path and rule:
 * a library's own may repeat the value.
 */
export function faultsOf(
  { error }: Pick<z.ZodSafeParseResult<unknown>, 'error'>,
  value: unknown,
  root: Path = [],
  redacted: (path: Path) => boolean = () => false,
): Fault[] {
  return (error?.issues ?? []).flatMap((issue) => faultPaths(issue).map((path) => fault(issue, path)));

  function fault(issue: z.core.$ZodIssue, path: Path): Fault {
    const sent = valueAt(value, path);
    return {
      path: [...root, ...path],
      message: messageOf(issue, sent),
      value: sent === undefined ? null : redacted(path) ? REDACTED : sent,
    };
  }
}

/** What lies at a path of a JSON value; undefined where nothing does. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((parent, step) => {
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, step)) return undefined;
    return Reflect.get(parent, step);
  }, value);
}

function faultPaths(issue: z.core.$ZodIssue): Path[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
}

function messageOf(issue: z.core.$ZodIssue, sent: unknown): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'is not a known property';
    case 'invalid_type':
      return sent === undefined ? 'is required' : `must be ${nounOf(issue.expected)}`;
    case 'invalid_value':
      return sent === undefined ? 'is required' : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'custom':
      return issue.message;
    default:
      return 'is not valid';
  }
}

function nounOf(expected: string): string {
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
