import { expect, test } from 'vitest';
import { z } from 'zod';
import { generateFiles } from '../../clients/typescript/generate.ts';
import packageJson from '../../package.json' with { type: 'json' };
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
