import { z } from 'zod';
import { type Fault, MAX_ERROR_ITEMS } from '../errors.ts';
import { faultsOf } from '../faults.ts';
import { Secret } from '../secret.ts';
import { ID_RULE, isId, isStorableText, TEXT_RULE } from '../text.ts';

/** Rules of arguments for `validate`; a broken one becomes a fault with its path and these words. */

/** An opaque id. The default of every `ID` argument. */
export const idRule = { schema: z.string().refine(isId, ID_RULE) };

/** Text that can be stored. The default of every `String` argument. */
export const textRule = { schema: z.string().refine(isStorableText, TEXT_RULE) };

/** A credential: 1 to 16,384 printable ASCII characters without spaces. The default of every `Secret` argument. */
export const secretRule = {
  schema: z.instanceof(Secret).refine((secret) => /^[\x21-\x7e]{1,16384}$/.test(secret.reveal()), {
    message: 'must be 1 to 16384 printable ASCII characters without spaces',
  }),
};

/** A whole number in a range. */
export function wholeNumberRule(least: number, most = 2_147_483_647) {
  return { schema: z.int().min(least).max(most) };
}

/** A UUID in any case of letters. */
export const uuidRule = { schema: z.guid('must be a UUID') };

/** A list of at most so many items. A longer one is refused before its items are looked at. */
export function atMost(maximum: number) {
  return { maxLength: maximum };
}

/** Deeper JSON than anybody writes, and far less than what exhausts a stack. */
const MAX_JSON_DEPTH = 64;

/**
 * JSON of a shape that can be stored and comes back equal: no U+0000 or lone surrogate in a key or text, no
 * `__proto__` key, no number outside of a double's range, no bottomless nesting. The value itself goes on, not
 * a copy: a copy would have its keys in another order.
 */
export function jsonOf(shape: z.ZodType) {
  const schema = z.unknown().superRefine((value, context) => {
    const unstorable = [...unstorableParts(value, []).take(MAX_ERROR_ITEMS)];
    const broken = unstorable.length > 0 ? unstorable.values() : faultsOf(shape.safeParse(value), value);
    for (const { path, message } of broken.take(MAX_ERROR_ITEMS)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  });
  return { schema };
}

/** Any JSON. The default of every `JSON` argument. */
export const jsonRule = jsonOf(z.unknown());

function* unstorableParts(
  value: unknown,
  path: (string | number)[],
): Generator<Pick<Fault, 'path' | 'message'>> {
  if (typeof value === 'string' && !isStorableText(value)) yield { path, message: TEXT_RULE };
  if (typeof value === 'number' && !Number.isFinite(value))
    yield { path, message: 'must be a finite number' };
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= MAX_JSON_DEPTH) {
    yield { path, message: `must not be nested deeper than ${MAX_JSON_DEPTH} levels` };
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const step = Array.isArray(value) ? Number(key) : key;
    if (key === '__proto__') yield { path, message: 'must not have a key "__proto__"' };
    else if (!isStorableText(key))
      yield { path, message: 'must not have a key with U+0000 or a lone surrogate' };
    else yield* unstorableParts(item, [...path, step]);
  }
}
