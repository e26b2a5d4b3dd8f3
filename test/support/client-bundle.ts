import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const input = fileURLToPath(new URL('../../clients/typescript/src/index.ts', import.meta.url));

/** Bundles the client package for browsers, as an app does that uses all of it. */
export async function bundleClient(): Promise<string> {
  const { output } = await build({
    input,
    platform: 'browser',
    write: false,
    output: { format: 'esm', minify: true },
  });
  return output.map((part) => (part.type === 'chunk' ? part.code : '')).join('');
}
