import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { copyRepository, makeFolder, removeFolder } from '../support/folder.ts';

/*
 * Releases a copy of the repository. Docker is a program that writes down its arguments, and has a digest for every tag:
 * image.test.ts tests the image.
 */

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

const Materials = z.object({
  bomFormat: z.string(),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
  components: z.array(
    z.object({
      purl: z.string(),
      version: z.string(),
      hashes: z.array(z.object({ alg: z.string() })).default([]),
    }),
  ),
});
const Manifest = z.object({ dependencies: z.record(z.string(), z.string()) });

const TIMEOUT_MS = 120_000;

let folder: string;
let repository: string;
let tag: string;
beforeEach(async () => {
  folder = await makeFolder();
  repository = join(folder, 'repository');
  await copyRepository(repository);
  tag = `v${JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')).version}`;
  await mkdir(join(folder, 'bin'));
  await writeFile(
    join(folder, 'bin/docker'),
    `#!/bin/sh\necho "$*" >> '${folder}/docker.log'\ncase "$*" in *imagetools*) echo '${DIGEST}' ;; esac\n`,
  );
  await chmod(join(folder, 'bin/docker'), 0o755);
  git('init', '--quiet', '--initial-branch', 'main');
  commit('Begin');
}, TIMEOUT_MS);
afterEach(() => removeFolder(folder));

function run(program: string, args: readonly string[]) {
  const identity = { GIT_CONFIG_GLOBAL: '/dev/null', EMAIL: 'releaser@example.com' };
  const env = { ...identity, PATH: `${folder}/bin:${process.env.PATH}`, HOME: folder };
  return spawnSync(program, args, { cwd: repository, encoding: 'utf8', env });
}

function git(...args: readonly string[]): string {
  const { status, stdout, stderr } = run('git', ['-c', 'user.name=Releaser', ...args]);
  expect(status, stderr).toBe(0);
  return stdout.trim();
}

function commit(subject: string): void {
  git('add', '--all');
  git('commit', '--quiet', '--message', subject);
}

const release = (...options: string[]) => run('npm', ['run', '--silent', 'release', '--', ...options]);

test('dates the changes, commits, tags, packs the clients and builds the image, once', {
  timeout: TIMEOUT_MS,
}, async () => {
  git('config', 'user.name', 'Releaser');
  const { status, stdout, stderr } = release();

  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toBe(
    `Released ${tag.slice(1)}: ${tag}, release/, the image.\n` +
      'Next: git push --follow-tags, and record the commit in docs/releases.md.\n',
  );
  const today = new Date().toISOString().slice(0, 10);
  expect(await readFile(join(repository, 'CHANGELOG.md'), 'utf8')).toContain(
    `\n## [Unreleased]\n\n## [${tag.slice(1)}] - ${today}\n\n`,
  );
  expect(git('cat-file', '-t', tag)).toBe('tag');
  expect(git('rev-parse', `${tag}^{commit}`)).toBe(git('rev-parse', 'HEAD'));
  expect(git('show', '--format=%s', '--name-only')).toBe(`Release ${tag.slice(1)}\n\nCHANGELOG.md`);
  expect(git('status', '--porcelain')).toBe('');
  const materials = `workspace-account-gateway-${tag.slice(1)}.cdx.json`;
  expect((await readdir(join(repository, 'release'))).toSorted()).toEqual([
    `workspace-account-client-${tag.slice(1)}.tgz`,
    materials,
    `workspace-account-react-${tag.slice(1)}.tgz`,
  ]);
  await checkMaterials(join(repository, 'release', materials));
  expect(await readFile(join(folder, 'docker.log'), 'utf8')).toBe(
    `version\nbuild --tag workspace-account-gateway:${tag.slice(1)} .\n`,
  );

  expect(release('--no-image')).toMatchObject({
    status: 1,
    stderr: `${tag} exists. Raise "version" in package.json and commit it.\n`,
  });
});

/** Expects the production packages of the lock file, each with its hash and license, and no address of a registry. */
async function checkMaterials(path: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  const { bomFormat, metadata, components } = Materials.parse(JSON.parse(text));
  expect([bomFormat, metadata.component.name, metadata.component.version]).toEqual([
    'CycloneDX',
    'workspace-account-gateway',
    tag.slice(1),
  ]);
  const { dependencies } = Manifest.parse(
    JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')),
  );
  const versions = new Map(components.map(({ purl, version }) => [purl.replace('%40', '@'), version]));
  for (const [name, version] of Object.entries(dependencies))
    expect(versions.get(`pkg:npm/${name}@${version}`), name).toBe(version);
  expect(components.length).toBeGreaterThan(150);
  expect(components.filter(({ hashes }) => !hashes.some(({ alg }) => alg === 'SHA-512'))).toEqual([]);
  expect(text).not.toMatch(/pkg:npm\/(vitest|%40biomejs|node-linux|%40embedded-postgres)/);
}

test.each(['release', 'images:pin'])(
  '%s prints its usage with --help, and refuses other arguments',
  (script) => {
    const [help, refused] = ['--help', 'x'].map((argument) =>
      run('npm', ['run', '-s', script, '--', argument]),
    );
    expect([help?.status, help?.stdout]).toEqual([0, expect.stringContaining(`Usage: npm run ${script}`)]);
    expect([refused?.status, refused?.stdout, refused?.stderr]).toEqual([
      1,
      '',
      expect.stringContaining(`Unexpected argument 'x'`),
    ]);
    expect(existsSync(join(folder, 'docker.log'))).toBe(false);
  },
);

test('images:pin pins all images to the digests that Docker reports, or changes nothing', {
  timeout: TIMEOUT_MS,
}, async () => {
  const read = () =>
    Promise.all(['Dockerfile', 'compose.yaml'].map((file) => readFile(join(repository, file), 'utf8')));
  const [dockerfile = '', compose = ''] = await read();
  const { status, stdout } = run('npm', ['run', '--silent', 'images:pin']);
  expect([status, stdout.trim().split('\n').length]).toEqual([0, 5]);
  const renewed = (text: string) => text.replace(/@sha256:[\da-f]{64}/g, `@${DIGEST}`);
  expect(await read()).toEqual([renewed(dockerfile), renewed(compose)]);
  expect(renewed(dockerfile)).not.toBe(dockerfile);

  await writeFile(join(folder, 'bin/docker'), '#!/bin/sh\necho "no such tag" >&2\nexit 1\n');
  const failed = run('npm', ['run', '--silent', 'images:pin']);
  expect([failed.status, failed.stderr]).toEqual([
    1,
    expect.stringMatching(/^docker returned no digest of node:.*: no such tag\n$/),
  ]);
  expect(await read()).toEqual([renewed(dockerfile), renewed(compose)]);
});

test.each<[problem: string, prepare: () => Promise<unknown>, message: string]>([
  ['uncommitted changes', () => writeFile(join(repository, 'new.txt'), ''), 'Commit or remove all changes'],
  ['another branch', async () => git('switch', '--quiet', '--create', 'other'), 'Check out main first'],
  [
    'a change log without unreleased changes',
    async () => {
      await writeFile(join(repository, 'CHANGELOG.md'), '# Change log\n');
      commit('Empty the change log');
    },
    'CHANGELOG.md has no section "[Unreleased]"',
  ],
  [
    'a Docker that does not run',
    () => writeFile(join(folder, 'bin/docker'), '#!/bin/sh\necho "no daemon" >&2\nexit 1\n'),
    'docker version failed:\nno daemon',
  ],
])(
  'with %s, says what to do and changes nothing',
  { timeout: TIMEOUT_MS },
  async (_problem, prepare, message) => {
    await prepare();
    const before = [git('rev-parse', 'HEAD'), git('status', '--porcelain')];

    const { status, stderr } = release();

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect([git('rev-parse', 'HEAD'), git('status', '--porcelain')]).toEqual(before);
    expect(git('tag')).toBe('');
  },
);
