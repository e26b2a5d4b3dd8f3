import { z } from 'zod';
import { countValues } from './json.ts';
import {
  type AllowedCharacters,
  CREDENTIAL_CHARACTERS,
  createCharacterCheck,
  ID_CHARACTERS,
} from './text.ts';

/* Constraints of inputs, for validation and for the OpenAPI document. Most lengths and characters are in text.ts. */

/** An opaque ID. */
export const idSchema = createCharacterSchema(ID_CHARACTERS);

/** A credential as callers send it. */
export const credentialSchema = createCharacterSchema(CREDENTIAL_CHARACTERS);

/** The maximum length of an email address (RFC 5321, section 4.5.3.1.3, without the angle brackets). */
const MAX_EMAIL_CHARACTERS = 254;

export const EMAIL_MESSAGE = `must be an email address of at most ${MAX_EMAIL_CHARACTERS} ASCII characters`;

/** An email address as browsers accept it: ASCII, without a display name, quotes or comments. */
export const emailSchema = z
  .email({ pattern: z.regexes.html5Email, error: EMAIL_MESSAGE })
  .max(MAX_EMAIL_CHARACTERS, EMAIL_MESSAGE);

export const MEMBER_ID_MESSAGE =
  'must be a member ID of 1 to 255 printable ASCII characters without spaces and !#<>@, not the ID of a channel';

/**
 * A chat member ID, such as Slack's `U012AB3CD`. The excluded characters begin names of channels and members, and
 * mentions. IDs of Slack's channels and conversations begin with C, G or D.
 */
export const memberIdSchema = z
  .string()
  .regex(/^(?![CGD][A-Z0-9]{8,}$)["$-;=?A-~]{1,255}$/, MEMBER_ID_MESSAGE);

/** Creates the schema of a rule, with the rule's JSON Schema as metadata. */
function createCharacterSchema(allowed: AllowedCharacters) {
  const { minLength, maxLength, characters, message } = allowed;
  return z
    .string()
    .refine(createCharacterCheck(allowed), message)
    .meta({ minLength, maxLength, pattern: `^${characters}*$` });
}

/** The maximum of an `Int` of GraphQL. */
const MAX_INT = 2_147_483_647;

/** Creates the schema of a whole number in a range. */
export function wholeNumberSchema(minimum: number, maximum = MAX_INT) {
  const message = describeRange(minimum, maximum);
  return z.int().min(minimum, message).max(maximum, message);
}

/** The rule of a whole number in a range, as error items state it. A range always has both ends, unlike zod's types. */
export function describeRange(minimum: number | null, maximum: number | null): string {
  return `must be a whole number from ${minimum} to ${maximum}`;
}

/** The maximum size of a payload, and of an answer. */
const MAX_CONTENT_BYTES = 65_536;

/** The maximum number of values in one. Many small values take several times the memory of their text. */
const MAX_CONTENT_VALUES = 2500;

/** The description of the size. */
export const contentSizeNote = 'At most 64 KiB (65,536 bytes) as JSON in UTF-8, without spaces.';

/** The description of both limits. */
export const payloadSizeNote = `${contentSizeNote.slice(0, -1)}, with at most 2,500 values.`;

/** Returns the message for a payload, an answer or another input that is too large. */
export function findExcess(content: unknown, maxBytes = MAX_CONTENT_BYTES): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes > maxBytes) return `must have at most ${maxBytes} bytes as JSON, and has ${bytes}`;
  // Each value takes two bytes, with its separator.
  const values = bytes > 2 * MAX_CONTENT_VALUES ? countValues(content) : 0;
  if (values <= MAX_CONTENT_VALUES) return undefined;
  return `must have at most ${MAX_CONTENT_VALUES} values, and has ${values}`;
}
