import { readFile } from 'node:fs/promises';

const path = (name: string) => new URL(`../../${name}`, import.meta.url);

/** Reads a file of the repository. */
export function readRepositoryFile(name: string): Promise<string> {
  return readFile(path(name), 'utf8');
}

/** Parses `NAME=value` lines. */
export function readSettings(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', value = ''] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      if (name === '') throw new Error(`Not a setting: ${line}`);
      return [name, value];
    }),
  );
}

/** Returns `.env.example` with its empty settings filled in. */
export async function filledExample(): Promise<Record<string, string>> {
  const example = readSettings(await readRepositoryFile('.env.example'));
  return { ...example, ENCRYPTION_KEYS: `key-1:${'A'.repeat(43)}=`, POSTGRES_PASSWORD: 'secret' };
}
