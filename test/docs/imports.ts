import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One import: the importing file, the imported module, the names in braces, and whether only types are imported. */
export type Import = { from: string; to: string; names: string[]; typeOnly: boolean };

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Returns the paths of all source files below a folder of the repository. */
export function sourcesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** Reads a source file. */
export function readSource(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Returns every import and re-export of a source file; paths of our own files are relative to the repository. */
export function parseImports(path: string): Import[] {
  const statement = /^(?:import|export)\s+(?<what>[^'";]*?\bfrom\s+)?'(?<to>[^']+)'/gm;
  const dynamic = /\bimport\('(?<to>[^']+)'\)/g;
  const text = readSource(path);
  return [...text.matchAll(statement), ...text.matchAll(dynamic)].map(({ groups }) => {
    const { what = '', to = '' } = groups ?? {};
    const target = to.startsWith('.') ? join(dirname(path), to) : to;
    const names = listNames(what);
    return { from: path, to: target, names, typeOnly: isTypeOnly(what, names) };
  });
}

function listNames(what: string): string[] {
  const [, names = ''] = /\{([^}]*)\}/.exec(what) ?? [];
  return names.split(',').flatMap((name) => name.trim() || []);
}

/** `import type …`, or braces in which every name is preceded by `type`. */
function isTypeOnly(what: string, names: readonly string[]): boolean {
  if (what.startsWith('type ')) return true;
  return what.startsWith('{') && names.every((name) => name.startsWith('type '));
}

/** A file's name without folder and extensions: `notifications.graphql.ts` becomes `notifications`. */
export function stemOf(path: string): string {
  return basename(path).split('.', 1)[0] ?? '';
}
