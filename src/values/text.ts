/** The length and characters of a string, as enforced and as stated in the OpenAPI document. */
export type AllowedCharacters = {
  /** In code points, as in JSON Schema. */
  readonly minLength: number;
  readonly maxLength: number;
  /** A character class that ECMA-262, Python, Go, Java and Rust interpret alike. */
  readonly characters: string;
  /** The message of error items. */
  readonly message: string;
};

/** IDs are opaque; they contain no control character (category Cc). */
export const ID_CHARACTERS: AllowedCharacters = {
  minLength: 1,
  maxLength: 255,
  characters: String.raw`[^\x00-\x1f\x7f-\x9f]`,
  message: 'must be 1 to 255 characters without control characters',
};

/** Credentials are sent in headers, so only printable ASCII is allowed. */
export const CREDENTIAL_CHARACTERS: AllowedCharacters = {
  minLength: 1,
  maxLength: 16_384,
  characters: '[!-~]',
  message: 'must be 1 to 16384 printable ASCII characters without spaces',
};

/** Creates the check of a rule. Lone surrogates never match. */
export function createCharacterCheck({ minLength, maxLength, characters }: AllowedCharacters) {
  const pattern = new RegExp(`^${characters}{${minLength},${maxLength}}$`, 'u');
  return (text: string): boolean => pattern.test(text) && text.isWellFormed();
}

/** Whether a string is an ID. */
export const isId = createCharacterCheck(ID_CHARACTERS);

/** The message of error items for text that cannot be stored. */
export const TEXT_MESSAGE = 'must not contain U+0000 or a lone surrogate';

/** Whether PostgreSQL can store a string: it rejects U+0000 and lone surrogates. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Whether a string is a UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Maximum lengths of strings, in characters (Unicode code points). */
export const MAX_LENGTH = {
  name: 255,
  title: 500,
  gitRef: 1024,
  url: 2048,
  preview: 10_000,
  errorMessage: 10_000,
};

/** Whether a string has at most `max` characters (Unicode code points). */
export function isWithinLength(text: string, max: number): boolean {
  return text.length <= max || [...text.slice(0, 2 * max + 1)].length <= max;
}

/**
 * Whether a string is an `http` or `https` URL without a user name and password, which can look like the host:
 * `https://github.com@example.net/`.
 */
export function isLinkUrl(text: string): boolean {
  if (!/^https?:\/\/[^\s\p{Cc}]+$/iu.test(text)) return false;
  const url = URL.parse(text);
  return url !== null && url.username === '' && url.password === '';
}

/** Shortens a string to at most `max` UTF-16 code units, the last of which is then `…`. Cuts no character in two. */
export function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Spaces, and what a mail program, a browser or a chat may show as a line break: controls, U+0085, U+2028 and U+2029. */
const SPACES = /[\s\p{Cc}]+/gu;

/** Embeddings, overrides and isolates, which can show parts of a line in another order (Unicode, UAX #9). */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** What mail programs, browsers and chats show as a line break (Unicode, UAX #14), and what reorders a line. */
const NOT_IN_LINE = /[\n\v\f\r\u0085\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

export const LINE_MESSAGE = 'must not contain line breaks or characters that reorder text';

/** Whether text is one line, which is shown in the order of its characters. */
export function isLine(text: string): boolean {
  return !NOT_IN_LINE.test(text);
}

/** Makes text one line: replaces line breaks and other spaces by single spaces, and removes what reorders the line. */
export function toLine(text: string): string {
  return text.replace(REORDERING, '').replace(SPACES, ' ').trim();
}

/** Controls but tab and line feed, and what reorders text (Unicode, UAX #9). Neither would be seen. */
const HIDDEN = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu;

/** Replaces characters that hide or reorder text by their numbers: `[U+202E]`. */
export function showHidden(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(
      HIDDEN,
      (character) => `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}
