import { hash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';

/*
 * Loading 1,600 modules takes most of a program's start. In a bundle, they load in 0.4 s of processor time instead of
 * 1 s, and the tests start about 80 programs. Commands that users type, such as `npm start`, run the sources.
 */

/** The programs that tests start, by their paths in the repository. */
const programs = [
  'src/main.ts',
  'src/worker.ts',
  'src/commands/await-ready.ts',
  'src/commands/dev.ts',
  'src/commands/migrate.ts',
  'src/commands/renew-epoch.ts',
  'src/commands/rotate-keys.ts',
  'src/commands/seed.ts',
  'src/commands/settings.ts',
  'src/commands/token.ts',
  'src/commands/vapid-key.ts',
] as const;

/** The path of a program in the repository. */
export type Program = (typeof programs)[number];

const repository = new URL('../../', import.meta.url);
/**
 * In the repository, because programs resolve some packages at run time. The name differs between copies of the
 * repository, which can share the packages, because bundles contain paths.
 */
const bundles = new URL(
  `node_modules/.cache/programs-${hash('sha256', repository.href).slice(0, 8)}/`,
  repository,
);

/** Sources find other files relative to their own URL. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform: {
    filter: { id: { exclude: /\/node_modules\// }, code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id))),
  },
};

/** Bundles the programs. Writes only what has changed, because another run may be starting them. */
export async function bundlePrograms(): Promise<void> {
  const { output } = await build({
    input: Object.fromEntries(
      programs.map((program) => [program, fileURLToPath(new URL(program, repository))]),
    ),
    platform: 'node',
    plugins: [keepUrls],
    write: false,
    output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
  });
  for (const file of output) {
    const path = fileURLToPath(new URL(file.fileName, bundles));
    const text = file.type === 'chunk' ? file.code : file.source;
    if ((await readFile(path, 'utf8').catch(() => undefined)) === text) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

/** Returns the path of a program's bundle. */
export const findBundle = (program: Program) => fileURLToPath(new URL(`${program}.mjs`, bundles));
