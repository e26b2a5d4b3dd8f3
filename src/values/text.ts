/** The rule of ids in words, as error items state it. */
export const ID_RULE = 'must be 1 to 255 characters without control characters';

/** Ids are opaque: 1 to 255 code points, none of them a control character or half a surrogate pair. */
export function isId(text: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(text);
}

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
