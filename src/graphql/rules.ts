import { z } from 'zod';
import { MAX_ERROR_ITEMS } from '../errors/gateway-errors.ts';
import { toIssues } from '../errors/validation-issues.ts';
import {
  credentialSchema,
  EMAIL_MESSAGE,
  emailSchema,
  idSchema,
  MEMBER_ID_MESSAGE,
  memberIdSchema,
  wholeNumberSchema,
} from '../values/constraints.ts';
import { findUnstorableParts } from '../values/json.ts';
import { Secret } from '../values/secret.ts';
import {
  CREDENTIAL_CHARACTERS,
  isLine,
  isLinkUrl,
  isStorableText,
  isWithinLength,
  LINE_MESSAGE,
  MAX_LENGTH,
  TEXT_MESSAGE,
} from '../values/text.ts';
import { type Time, toMilliseconds } from '../values/time.ts';

/* Rules of arguments, for `validate`. A violation becomes an error item with the argument's path and the rule's message. */

const numberFormat = new Intl.NumberFormat('en');

/** An opaque ID. The default of every `ID` argument. */
export const idRule = { schema: idSchema };

/** Text that can be stored. The default of every `String` argument. */
export const textRule = { schema: z.string().refine(isStorableText, { error: TEXT_MESSAGE, abort: true }) };

/** The description and the rule of a text with a maximum length. */
export function boundedText(description: string, max: number) {
  return {
    description: `${description} At most ${numberFormat.format(max)} characters.`,
    validate: { schema: boundedRule(max) },
  };
}

function boundedRule(max: number) {
  const error = `must have at most ${max} characters`;
  return textRule.schema.refine((text) => isWithinLength(text, max), { error, abort: true });
}

/** The description and the rule of a line of text with a maximum length. */
export function boundedLine(description: string, max: number) {
  const { validate, ...field } = boundedText(
    `${description} Must not contain line breaks or characters that reorder text (U+202A to U+202E, U+2066 to U+2069).`,
    max,
  );
  return { ...field, validate: { schema: validate.schema.refine(isLine, LINE_MESSAGE) } };
}

/**
 * An `http` or `https` URL without a user name. The default of every `URL` argument. Clients may render it as a link, and URLs of other
 * schemes could run code.
 */
export const urlRule = {
  schema: boundedRule(MAX_LENGTH.url).refine(isLinkUrl, 'must be an http or https URL without a user name'),
};

function secretRuleFor(schema: z.ZodType, message: string) {
  return {
    schema: z.instanceof(Secret).refine((secret) => schema.safeParse(secret.reveal()).success, { message }),
  };
}

/** A credential. The default of every `Secret` argument. */
export const secretRule = secretRuleFor(credentialSchema, CREDENTIAL_CHARACTERS.message);

/** An email address. The default of every `EmailAddress` argument. */
export const emailRule = secretRuleFor(emailSchema, EMAIL_MESSAGE);

/** A chat member ID. */
export const memberIdRule = secretRuleFor(memberIdSchema, MEMBER_ID_MESSAGE);

/** A whole number in a range. */
export function wholeNumberRule(minimum: number, maximum?: number) {
  return { schema: wholeNumberSchema(minimum, maximum) };
}

/** A UUID, in upper or lower case. */
export const uuidRule = { schema: z.guid('must be a UUID') };

const MAX_AHEAD_MS = 5 * 60_000;

/**
 * A timestamp that is not far in the future. Allows for differing clocks. Without a limit, an event dated next year
 * would remain the newest.
 */
export const notAheadRule = {
  schema: z
    .custom<Time>()
    .refine(
      (time) => toMilliseconds(time) <= Date.now() + MAX_AHEAD_MS,
      'must not be more than five minutes in the future',
    ),
};

/** 365 days. */
export const YEAR_SECONDS = 31_536_000;

/** A timestamp at most a year ahead. */
export const withinYearRule = {
  schema: z
    .custom<Time>()
    .refine(
      (time) => toMilliseconds(time) <= Date.now() + 1000 * YEAR_SECONDS,
      'must not be more than a year in the future',
    ),
};

const MAX_PERIOD_MS = 30 * 24 * 3_600_000;

/** A timestamp at most 30 days ago. Allows for the time that the request takes. */
export const sinceRule = {
  schema: z
    .custom<Time>()
    .refine(
      (time) => toMilliseconds(time) >= Date.now() - MAX_PERIOD_MS - 60_000,
      'must not be more than 30 days in the past',
    ),
};

/** A list with a maximum length. A longer list is refused before its items are validated. */
export function maxItems(maximum: number) {
  return { maxLength: maximum };
}

/** Storable JSON of a shape. The value itself is passed on: zod's copy would have its keys in another order. */
export function jsonRuleFor(shape: z.ZodType) {
  const schema = z.unknown().superRefine((value, context) => {
    const unstorable = [...findUnstorableParts(value).take(MAX_ERROR_ITEMS)];
    const broken = unstorable.length > 0 ? unstorable.values() : toIssues(shape.safeParse(value), value);
    for (const { path, message } of broken.take(MAX_ERROR_ITEMS)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  });
  return { schema };
}

/** Any JSON. The default of every `JSON` argument. */
export const jsonRule = jsonRuleFor(z.unknown());
