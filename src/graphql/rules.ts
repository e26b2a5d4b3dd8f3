import { z } from 'zod';
import { type Fault, MAX_ERROR_ITEMS } from '../errors.ts';
import { faultsOf } from '../faults.ts';
import { Secret } from '../secret.ts';
import { ID_RULE, isId, isStorableText, TEXT_RULE } from '../text.ts';
import { millisecondsOf, type Time } from '../time.ts';

const numberFormat = new Intl.NumberFormat('en');

/** Rules of arguments for `validate`; a broken one becomes a fault with its path and these words. */

/** An opaque id. The default of every `ID` argument. */
export const idRule = { schema: z.string().refine(isId, ID_RULE) };

/** Text that can be stored. The default of every `String` argument. */
export const textRule = { schema: z.string().refine(isStorableText, { error: TEXT_RULE, abort: true }) };

/** Maximum lengths of texts, in characters. */
export const MAX_LENGTH = {
  name: 255,
  title: 500,
  gitRef: 1024,
  url: 2048,
  preview: 10_000,
  errorMessage: 10_000,
  message: 100_000,
};

/** The description and the rule of a text with a maximum length. */
export function boundedText(description: string, max: number) {
  const isWithin = (text: string) => text.length <= max || [...text.slice(0, 2 * max + 1)].length <= max;
  const error = `must have at most ${max} characters`;
  const schema = textRule.schema.refine(isWithin, { error, abort: true });
  return {
    description: `${description} At most ${numberFormat.format(max)} characters.`,
    validate: { schema },
  };
}

/** The description and the rule of a URL that people may follow: a page that links another scheme may run it. */
export function linkUrl(description: string) {
  const { validate, ...field } = boundedText(`${description} An \`http\` or \`https\` URL.`, MAX_LENGTH.url);
  const schema = validate.schema.refine(isLinkUrl, 'must be an http or https URL');
  return { ...field, validate: { schema } };
}

function isLinkUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text);
}

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
  if (typeof value !== 'object' || value === null) {
    const message = unstorableRule(value);
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
    // Most values are fine and have nothing inside.
    else if (typeof item === 'object' || unstorableRule(item) !== undefined)
      yield* unstorableParts(item, [...path, step]);
  }
}

/** The rule that a text or number breaks, if it breaks one. */
function unstorableRule(value: unknown): string | undefined {
  if (typeof value === 'string' && !isStorableText(value)) return TEXT_RULE;
  return typeof value === 'number' && !Number.isFinite(value) ? 'must be a finite number' : undefined;
}
