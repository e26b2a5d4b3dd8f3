import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One import of a module: what is imported, and whether only types are. */
export type Import = { from: string; to: string; typeOnly: boolean };

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The paths of every source file below a folder of the repository. */
export function sourcesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** The text of a source file. */
export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Every import and re-export of a source file; paths of the repository's own files are made relative to its root. */
export function importsOf(path: string): Import[] {
  const statement = /^(?:import|export)\s+(?<what>[^'";]*?\bfrom\s+)?'(?<to>[^']+)'/gm;
  const dynamic = /\bimport\('(?<to>[^']+)'\)/g;
  const text = textOf(path);
  return [...text.matchAll(statement), ...text.matchAll(dynamic)].map(({ groups }) => {
    const { what = '', to = '' } = groups ?? {};
    const target = to.startsWith('.') ? join(dirname(path), to) : to;
    return { from: path, to: target, typeOnly: isTypeOnly(what) };
  });
}

/** `import type …`, or braces in which every name stands after `type`. */
function isTypeOnly(what: string): boolean {
  if (what.startsWith('type ')) return true;
  const [, before = '', names] = /^([^{]*)\{([^}]*)\}/.exec(what) ?? [];
  if (names === undefined || before.trim() !== '') return false;
  return names
    .split(',')
    .filter((name) => name.trim() !== '')
    .every((name) => name.trim().startsWith('type '));
}

/** A file's name without its folder and endings: `notifications.graphql.ts` is `notifications`. */
export function stemOf(path: string): string {
  return basename(path).split('.', 1)[0] ?? '';
}
