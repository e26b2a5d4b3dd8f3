/** The rule of ids in words, as faults tell it. */
export const ID_RULE = 'must be 1 to 255 characters without control characters';

/** Ids are opaque: 1 to 255 code points, none of them a control character or half a surrogate pair. */
export function isId(text: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(text);
}

/** The rule of stored text in words, as faults tell it. */
export const TEXT_RULE = 'must not contain U+0000 or a lone surrogate';

/** PostgreSQL cannot store U+0000, and half a surrogate pair is not Unicode text. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Whether a text is a UUID, in any case of letters. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
