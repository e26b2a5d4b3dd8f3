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
