import { showHidden } from '../values/text.ts';

/** Markup. Only {@link html} and {@link Html.ofLibrary} create it, so all text in it is escaped. */
export class Html {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** Takes markup of a library that has escaped all text in it. */
  static ofLibrary(text: string): Html {
    return new Html(text);
  }

  /** Joins literal markup with values, of which strings are escaped. */
  static join(strings: readonly string[], values: readonly Value[]): Html {
    return new Html(strings.reduce((text, part, index) => text + toText(values[index - 1]) + part));
  }
}

/** What a template takes: text, markup, lists of them, or nothing. */
export type Value = Html | string | number | undefined | null | false | readonly Value[];

/** Writes HTML. Text in a value is escaped for content and for quoted attributes. */
export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Html =>
  Html.join(strings, values);

function toText(value: Value): string {
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object' && value !== null) return value.map(toText).join('');
  return value === undefined || value === null || value === false
    ? ''
    : escapeHtml(showHidden(String(value)));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
