import { z } from 'zod';
import { faultsOf } from '../faults.ts';
import { Secret } from '../secret.ts';
import { ID_RULE, isId, isStorableText, TEXT_RULE } from '../text.ts';
import { millisecondsOf, type Time } from '../time.ts';

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

const MAX_AHEAD_MS = 5 * 60_000;

/** A timestamp that is not far in the future: clocks differ, but an event of next year would outlive all others. */
export const notAheadRule = {
  schema: z
    .custom<Time>()
    .refine(
      (time) => millisecondsOf(time) <= Date.now() + MAX_AHEAD_MS,
      'must not be more than five minutes in the future',
    ),
};

/** A list of at most so many items; written as a refinement, so that faults inside it are told too. */
export function atMost(most: number) {
  const isWithin = (items: readonly unknown[]) => items.length <= most;
  const refine: [typeof isWithin, { message: string }] = [
    isWithin,
    { message: `must have at most ${most} items` },
  ];
  return { refine };
}

/** Deeper JSON than anybody writes, and far less than what exhausts a stack. */
const DEEPEST = 64;

/**
 * JSON of a shape that can be stored and comes back equal: no U+0000 or lone surrogate in a key or text, no
 * `__proto__` key, no number outside of a double's range, no bottomless nesting. The value itself goes on, not
 * a copy: a copy would have its keys in another order.
 */
export function jsonOf(shape: z.ZodType) {
  const schema = z.unknown().superRefine((value, context) => {
    const hostile = [...unstorable(value, [])];
    const misshapen = () => faultsOf(shape.safeParse(value), value);
    for (const { path, message } of hostile.length > 0 ? hostile : misshapen()) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  });
  return { schema };
}

/** Any JSON. The default of every `JSON` argument. */
export const jsonRule = jsonOf(z.unknown());

function* unstorable(
  value: unknown,
  path: (string | number)[],
): Generator<{ path: (string | number)[]; message: string }> {
  if (typeof value === 'string' && !isStorableText(value)) yield { path, message: TEXT_RULE };
  if (typeof value === 'number' && !Number.isFinite(value))
    yield { path, message: 'must be a finite number' };
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= DEEPEST) {
    yield { path, message: `must not be nested deeper than ${DEEPEST} levels` };
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const step = Array.isArray(value) ? Number(key) : key;
    if (key === '__proto__') yield { path, message: 'must not have a key "__proto__"' };
    else if (!isStorableText(key)) yield { path, message: `must not have a key that ${TEXT_RULE.slice(5)}` };
    else yield* unstorable(item, [...path, step]);
  }
}
