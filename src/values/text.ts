/** A rule that the OpenAPI document states as it is enforced: how many characters a string has, and which. */
export type CharacterRule = {
  /** In code points, as JSON Schema counts. */
  readonly minLength: number;
  readonly maxLength: number;
  /** A character class that ECMA-262, Python, Go, Java and Rust all read alike. */
  readonly characters: string;
  /** The rule in words, as error items state it. */
  readonly message: string;
};

/** IDs are opaque; they contain no control character (category Cc). */
export const ID_RULE: CharacterRule = {
  minLength: 1,
  maxLength: 255,
  characters: String.raw`[^\x00-\x1f\x7f-\x9f]`,
  message: 'must be 1 to 255 characters without control characters',
};

/** Credentials are sent in headers. */
export const CREDENTIAL_RULE: CharacterRule = {
  minLength: 1,
  maxLength: 16_384,
  characters: '[!-~]',
  message: 'must be 1 to 16384 printable ASCII characters without spaces',
};

/** Creates a check of a rule. A lone surrogate is no character. */
export function createCharacterCheck({ minLength, maxLength, characters }: CharacterRule) {
  const pattern = new RegExp(`^${characters}{${minLength},${maxLength}}$`, 'u');
  return (text: string): boolean => pattern.test(text) && text.isWellFormed();
}

/** Whether a string is an ID. */
export const isId = createCharacterCheck(ID_RULE);

/** The rule of stored text in words, as error items state it. */
export const TEXT_RULE = 'must not contain U+0000 or a lone surrogate';

/** PostgreSQL cannot store U+0000, and half a surrogate pair is not Unicode text. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Whether a text is a UUID, in any case of letters. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

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

/** Whether a text has at most `max` characters. Counts no further than it needs to. */
export function isWithinLength(text: string, max: number): boolean {
  return text.length <= max || [...text.slice(0, 2 * max + 1)].length <= max;
}

/** Whether a text is an `http` or `https` URL. */
export function isLinkUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(text) && URL.canParse(text);
}
