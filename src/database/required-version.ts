/**
 * Returns the version that gateways need at least once a migration has been applied, which is part of the name of a
 * migration that removes something: 0.4.0 for `Migration20270104093000_requires_0_4_0_drop_title`. Returns undefined if
 * gateways of any version can work.
 *
 * A gateway finds the names of later migrations in the database, so it can decide although it does not have them.
 */
export function readRequiredVersion(name: string): string | undefined {
  const [, major, minor, patch] = /^Migration\d+_requires_(\d+)_(\d+)_(\d+)(?!\d)/.exec(name) ?? [];
  return major === undefined ? undefined : `${major}.${minor}.${patch}`;
}
