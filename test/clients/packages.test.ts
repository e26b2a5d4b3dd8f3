import { expect, test } from 'vitest';
import { z } from 'zod';
import { generateFiles } from '../../clients/typescript/generate.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { bundleClient, measureBundle } from '../support/client-bundle.ts';
import { readRepositoryFile } from '../support/settings-file.ts';

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
  '%s have at most the size that is promised, compressed, with dependencies',
  async (_name, client, react, limit) => {
    const { first } = await measureBundle(
      `export { ${client} } from '@workspace-account/client'; export { ${react} } from '@workspace-account/react';`,
    );
    expect(first).toBeLessThanOrEqual(limit);
  },
);

test('the client has no imports besides its own code', async () => {
  expect(await bundleClient()).not.toMatch(/^import\b/m);
});
