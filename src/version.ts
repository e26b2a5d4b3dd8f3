import manifest from '../package.json' with { type: 'json' };

/** The version of this gateway. docs/releases.md lists the versions. */
export const { version } = manifest;

/** Returns a negative number if the first version is earlier, a positive one if it is later, and 0 if they are equal. */
export function compareVersions(first: string, second: string): number {
  return first.localeCompare(second, 'en', { numeric: true });
}
