/** Shortens a string to at most `max` UTF-16 code units, the last of which is then `…`. Cuts no character in two. */
export function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
