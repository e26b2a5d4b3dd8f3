import { readPage, tableBelow } from '../support/documentation.ts';

/** A release that docs/releases.md records. */
export type Release = { version: string; commit: string };

/** Reads the recorded releases, oldest first. */
export function readReleases(): Release[] {
  return tableBelow(readPage('docs/releases.md'), 'Releases').map(([version = '', , commit = '']) => ({
    version,
    commit,
  }));
}
