import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'rolldown';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { generateFiles } from '../../clients/typescript/generate.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { readRepositoryFile } from '../support/documentation.ts';

const Dependencies = z.record(z.string(), z.string()).default({});
const Manifest = z.object({
  version: z.string().optional(),
  dependencies: Dependencies,
  peerDependencies: Dependencies,
});

test.each(Object.entries(await generateFiles()))(
  '%s is generated from schema.graphql and operations.graphql (npm run schema)',
  async (name, text) => {
    await expect(text).toMatchFileSnapshot(`../../clients/typescript/src/generated/${name}`);
  },
);

test('the packages have the version of the gateway, and depend on it or on later ones of its minor version', async () => {
  const texts = await Promise.all(
    packageJson.workspaces.map((folder) => readRepositoryFile(`${folder}/package.json`)),
  );
  const manifests = texts.map((text) => Manifest.parse(JSON.parse(text)));
  const versions = manifests.flatMap(({ version, dependencies, peerDependencies }) => [
    version,
    ...Object.entries({ ...dependencies, ...peerDependencies })
      .filter(([name]) => name.startsWith('@workspace-account/'))
      .map(([, required]) => required.replace(/^\^/, '')),
  ]);
  expect(new Set(versions)).toEqual(new Set([undefined, packageJson.version]));
});

const source = (path: string) => fileURLToPath(new URL(`../../clients/${path}`, import.meta.url));

/** Bundles a module for browsers, without React, and returns what is loaded first. */
async function bundle(code: string): Promise<string> {
  const resolveId = (id: string) => (id === 'entry' ? id : undefined);
  const { output } = await build({
    input: 'entry',
    plugins: [{ name: 'entry', resolveId, load: (id) => (id === 'entry' ? code : undefined) }],
    resolve: {
      alias: {
        '@workspace-account/client': source('typescript/src/index.ts'),
        '@workspace-account/react': source('react/src/index.ts'),
      },
    },
    external: /^react(-dom)?($|\/)/,
    platform: 'browser',
    write: false,
    output: { format: 'esm', minify: true },
  });
  return output[0].code;
}

const HOOKS = ['useInbox', 'useAnswer', 'useCounts', 'useNotification', 'usePreferences', 'useEditorAuth'];

test.each([
  ['client', 'createInbox, subscribeToPush', '', 16],
  ['client and hooks', 'createInbox, subscribeToPush', ['InboxProvider', ...HOOKS].join(), 16],
  [
    'client, hooks and components',
    'createInbox',
    'InboxProvider, Inbox, InboxBell, NotificationPreferences',
    30,
  ],
])(
  '%s have at most the size in kB that is promised, compressed, with dependencies',
  async (_name, ofClient, ofReact, limit) => {
    const first = await bundle(
      `export { ${ofClient} } from '@workspace-account/client'; export { ${ofReact} } from '@workspace-account/react';`,
    );
    expect(gzipSync(first).length / 1000).toBeLessThanOrEqual(limit);
  },
);

test('the client has no imports besides its own code', async () => {
  expect(await bundle(`export * from '@workspace-account/client';`)).not.toMatch(/^import\b/m);
});
