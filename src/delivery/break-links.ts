/**
 * What mail programs and chats recognize in plain text as a link:
 *
 * - a dot before a letter, as in `example.com`, `www.example`, `a@example.com`, and in the name of a file whose ending is
 *   also a top-level domain. Browsers read the ideographic full stops as dots, and ignore invisible characters (Unicode,
 *   UTS #46). No top-level domain begins with a digit, so versions such as 1.2.3 stay.
 * - the dot in the middle of an IPv4 address
 * - the colon after a scheme, as in `mailto:` or `tel:`
 * - two slashes before a host, as in `https://` and in a Windows network path, `\\server`
 */
const LINK =
  /(?<=\S)[.\u3002\uff0e\uff61](?=[^\s\p{Nd}\p{P}])|(?<=www)\.(?=\S)|(?<=\d\.\d+)\.(?=\d+\.\d)|(?<=[^\s\p{Nd}]):(?=\S)|[/\\]{2,}(?=\S)/giu;

/** Breaks up links in text by spaces, which end a link in every client: `https: // example. com/a`. */
export function breakLinks(text: string): string {
  return text.replace(LINK, '$& ');
}
