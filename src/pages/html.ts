import { showHidden } from '../values/text.ts';

/** Markup. All text in it is escaped: only {@link html} and libraries that escape all text write it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a template takes: text, markup, lists of them, or nothing. */
type Value = Html | string | number | undefined | null | false | readonly Value[];

/** Writes HTML. Text in a value is escaped for content and for quoted attributes. */
export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(strings.reduce((text, part, index) => text + toText(values[index - 1]) + part));

function toText(value: Value): string {
  if (value instanceof Html) return value.text;
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
