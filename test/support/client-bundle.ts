import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'rolldown';

const source = (path: string) => fileURLToPath(new URL(`../../clients/${path}`, import.meta.url));
const client = source('typescript/src/index.ts');

/** Bundles the client package for browsers, as an app does that uses all of it. */
export async function bundleClient(): Promise<string> {
  const [code = ''] = await bundle(`export * from ${JSON.stringify(client)};`);
  return code;
}

/** Returns the kB (1,000 bytes) of an app with this code, compressed, without React and what is loaded later, and those of all parts. */
export async function measureBundle(code: string): Promise<{ first: number; all: number }> {
  const sizes = (await bundle(code)).map((part) => gzipSync(part).length / 1000);
  return { first: sizes[0] ?? 0, all: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Bundles a module, and returns the parts, that which is loaded first at the beginning. */
async function bundle(code: string): Promise<string[]> {
  const { output } = await build({
    input: 'entry',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? id : undefined),
        load: (id) => (id === 'entry' ? code : undefined),
      },
    ],
    resolve: {
      alias: {
        '@workspace-account/client': client,
        '@workspace-account/react': source('react/src/index.ts'),
      },
    },
    external: /^react(-dom)?($|\/)/,
    platform: 'browser',
    write: false,
    output: { format: 'esm', minify: true },
  });
  return output.flatMap((part) => (part.type === 'chunk' ? part.code : []));
}
