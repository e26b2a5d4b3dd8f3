import manifest from '../package.json' with { type: 'json' };

/** The version of this gateway. docs/releases.md lists the versions. */
export const { version } = manifest;
