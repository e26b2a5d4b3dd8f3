import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** A page of the documentation. */
export type Page = { path: string; text: string };

/** A code block: its language, the rest of the opening line, and its content. */
export type Block = { language: string; info: string; content: string };

/** Reads a file of the repository. */
export function readPage(path: string): Page {
  return { path, text: readFileSync(`${repository}/${path}`, 'utf8') };
}

/** Reads the text of a file of the repository. */
export const readRepositoryFile = async (path: string) => readPage(path).text;

/** README.md and the pages in docs/. */
export const pages: readonly Page[] = [
  'README.md',
  ...readdirSync(`${repository}/docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map(readPage);

/** Returns the code blocks of a page in order. */
export function readBlocks({ text }: Page): Block[] {
  return [...text.matchAll(/^ *```(\w*)(?: ([^\n]*))?\n(.*?)^ *```$/gms)].map(
    ([, language = '', info = '', content = '']) => ({ language, info, content }),
  );
}

/** Returns the rows of the first table below a heading, without the table's head and without backticks. */
export function tableBelow({ path, text }: Page, heading: string): string[][] {
  const [, section] = text.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [table] = /^\|.*?(?=^[^|])/ms.exec(`${section}\n`) ?? [];
  if (table === undefined) throw new Error(`${path} has no table below "${heading}".`);
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) => row.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')));
}

/** Replaces values that differ between runs: timestamps, UUIDs and cursors of changes. */
export function normalize(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<timestamp>')
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<uuid>')
    .replaceAll(/"ref": ?"[\w-]{22}"/g, '"ref":"<ref>"')
    .replaceAll(/Try again in \d+ s/g, 'Try again in <number> s')
    .replaceAll(/"Wy[IJ][\w-]+"/g, '"<cursor>"');
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
