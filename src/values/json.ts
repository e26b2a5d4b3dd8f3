import type { ValidationIssue } from '../errors/issue.ts';
import { isStorableText, TEXT_MESSAGE } from './text.ts';

/** Deeper than real payloads, and far below the depth that overflows the stack. */
const MAX_JSON_DEPTH = 64;

/**
 * Finds the parts of a JSON value that cannot be stored and returned unchanged: U+0000 or a lone surrogate in a key or
 * string, a `__proto__` key, a number outside the range of a double, nesting beyond the limit.
 */
export function* findUnstorableParts(
  value: unknown,
  path: ValidationIssue['path'] = [],
): Generator<Pick<ValidationIssue, 'path' | 'message'>> {
  if (typeof value !== 'object' || value === null) {
    const message = findBrokenRule(value);
    if (message !== undefined) yield { path, message };
    return;
  }
  if (path.length >= MAX_JSON_DEPTH) {
    yield { path, message: `must not be nested deeper than ${MAX_JSON_DEPTH} levels` };
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const step = Array.isArray(value) ? Number(key) : key;
    if (key === '__proto__') yield { path, message: 'must not have a key "__proto__"' };
    else if (!isStorableText(key))
      yield { path, message: 'must not have a key with U+0000 or a lone surrogate' };
    // Skips storable primitives, which most values are.
    else if (typeof item === 'object' || findBrokenRule(item) !== undefined)
      yield* findUnstorableParts(item, [...path, step]);
  }
}

function findBrokenRule(value: unknown): string | undefined {
  if (typeof value === 'string' && !isStorableText(value)) return TEXT_MESSAGE;
  return typeof value === 'number' && !Number.isFinite(value) ? 'must be a finite number' : undefined;
}

/** Counts the values of a JSON value: itself, and those inside it. */
export function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + countValues(item), 1);
}
