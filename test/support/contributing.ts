import { cp, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** The text of docs/adding-an-operation.md. */
const example = await readFile(join(repository, 'docs/adding-an-operation.md'), 'utf8');

/** A block of the worked example: a complete file, a diff of a file, or commands. */
export type Block = { kind: string; path: string; content: string };

/** The blocks of the worked example, in order. A diff is a block for each of its `@@ path` lines. */
export function exampleBlocks(): Block[] {
  const found = example.matchAll(/^(`{3,})(ts|diff|bash)(?: (\S+))?\n(.*?)^\1$/gms);
  return [...found].flatMap(([, _fence, kind = '', path = '', content = '']) =>
    kind === 'diff' ? readHunks(content) : { kind, path, content },
  );
}

const readHunks = (diff: string): Block[] =>
  diff.split(/^(?=@@ )/m).map((hunk) => {
    const [first = '', ...lines] = hunk.split('\n');
    return { kind: 'diff', path: first.slice('@@ '.length), content: lines.join('\n') };
  });

/** Copies the repository, and links the installed packages. Its own packages are those of the copy. */
export async function copyRepository(folder: string): Promise<void> {
  const isOurs = (path: string) => !/\/(node_modules|dist|\.git|\.data)$/.test(path);
  await cp(repository, folder, { recursive: true, filter: isOurs });
  const own = '@workspace-account';
  for (const packages of ['node_modules', `node_modules/${own}`, 'examples/rest-client/node_modules']) {
    const [from, to] = [join(repository, packages), join(folder, packages)];
    await mkdir(to);
    const entries = await readdir(from, { withFileTypes: true });
    for (const entry of entries.filter(({ name }) => name !== own)) {
      const installed = join(from, entry.name);
      await symlink(entry.isSymbolicLink() ? await readlink(installed) : installed, join(to, entry.name));
    }
  }
}

/** Applies a block to a copy of the repository. */
export async function applyBlock(folder: string, { kind, path, content }: Block): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, kind === 'ts' ? content : patch(await readFile(file, 'utf8'), content, path));
}

/** Replaces the old lines, which must occur exactly once. */
function patch(text: string, diff: string, path: string): string {
  const lines = diff.split('\n').filter((line) => line !== '');
  const side = (sign: string) =>
    lines.filter((line) => line.startsWith(' ') || line.startsWith(sign)).map((line) => `${line.slice(1)}\n`);
  const parts = text.split(side('-').join(''));
  expect(parts, `${path} contains these lines once:\n${side('-').join('')}`).toHaveLength(2);
  return parts.join(side('+').join(''));
}
