/** Shorter names are too similar to unrelated variables, such as `HOST` and `HOME`. */
const MIN_LENGTH = 8;

const MAX_EDITS = 2;

/** Describes variables that are probably misspelled settings. */
export function findMisspellings(given: readonly string[], settings: readonly string[]): string[] {
  const unset = settings.filter((name) => name.length >= MIN_LENGTH && !given.includes(name));
  return given
    .filter((name) => !settings.includes(name))
    .flatMap((name) => {
      const meant = unset.find((setting) => isSimilar(name.toUpperCase(), setting));
      return meant === undefined ? [] : [`${name}: is not a setting and is ignored; did you mean ${meant}?`];
    });
}

function isSimilar(name: string, setting: string): boolean {
  return Math.abs(name.length - setting.length) <= MAX_EDITS && countEdits(name, setting) <= MAX_EDITS;
}

/** The Levenshtein distance. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const [left = 0, above = 0, diagonal = 0] = [next[column], row[column + 1], row[column]];
      next.push(letter === other ? diagonal : 1 + Math.min(left, above, diagonal));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
