import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { copyRepository, makeFolder, removeFolder } from '../support/folder.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { captureOutput, type Process } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

/** npm and the compilers are slow on a busy machine. */
const TIMEOUT_MS = 300_000;

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));

/** The compilers of this repository: a current one, and one that is written in JavaScript. */
const compilers = ['node_modules/.bin/tsc', 'examples/rest-client/node_modules/.bin/tsc'];
const resolutions = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];

let folder: string;
let gateway: TestGateway;
beforeAll(async () => {
  folder = await makeFolder();
  gateway = await startTestGateway();
  await copyRepository(join(folder, 'checkout'));
  await mkdir(join(folder, 'packed'));
  const packages = ['-w', '@workspace-account/client', '-w', '@workspace-account/react'];
  await run('npm', ['pack', '--silent', '--pack-destination', join(folder, 'packed'), ...packages], {
    cwd: join(folder, 'checkout'),
  });
}, TIMEOUT_MS);
afterAll(async () => {
  await gateway.close();
  await removeFolder(folder);
});

const packed = (name: string) =>
  join(folder, 'packed', `workspace-account-${name}-${packageJson.version}.tgz`);

/** Installs packages into a new folder, and copies example programs to it. */
async function install(name: string, packages: readonly string[], examples: readonly string[]) {
  const cwd = join(folder, name);
  await mkdir(cwd);
  await writeFile(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], { cwd });
  for (const path of examples)
    await cp(join(repository, 'clients', path), join(cwd, path.split('/').at(-1) ?? ''));
  return cwd;
}

/** Compiles the programs in a folder with the strictest options, which also check the declarations of the packages. */
async function compile(cwd: string): Promise<void> {
  for (const compiler of compilers) {
    for (const resolution of resolutions) {
      const compilerOptions = {
        target: 'es2022',
        lib: ['es2022', 'dom', 'dom.iterable'],
        ...resolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        noPropertyAccessFromIndexSignature: true,
        noImplicitOverride: true,
        isolatedModules: true,
        verbatimModuleSyntax: true,
        skipLibCheck: false,
        types: [],
        jsx: 'react-jsx',
        outDir: 'out',
      };
      await writeFile(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
      const { stdout } = await run(join(repository, compiler), ['-p', '.'], { cwd }).catch((error) => error);
      const errors = z
        .string()
        .parse(stdout)
        .split('\n')
        .filter((line) => /^(?!\s|$)/.test(line));
      // Some of the other packages have errors in their own declarations.
      const ours = errors.filter((line) => !/^node_modules\/(?!@workspace-account)/.test(line));
      expect(ours, `${compiler}, ${resolution.moduleResolution}`).toEqual([]);
    }
  }
}

/** Runs a statement with the exports of a compiled program, the URL of the gateway, and a user's token. */
async function start(cwd: string, program: string, user: string, statement: string): Promise<Process> {
  const script = `import * as program from './out/${program}.js';
    const [url, token] = process.argv.slice(1);
    ${statement}`;
  const values = [`${gateway.address}/graphql`, await member(user)];
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, ...values], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return captureOutput(child, program);
}

test.each(['client', 'react'])('the package of %s contains compiled code only', async (name) => {
  const { stdout } = await run('tar', ['-tzf', packed(name)]);
  const files = stdout.trim().split('\n');
  expect(files).toEqual(expect.arrayContaining(['package/dist/index.js', 'package/dist/index.d.ts']));
  expect(files.filter((path) => !/^package\/dist\/[\w/-]+\.(js|js\.map|d\.ts)$/.test(path)).sort()).toEqual([
    'package/LICENSE',
    'package/README.md',
    'package/package.json',
    ...(name === 'client'
      ? ['package/push-service-worker.js']
      : ['package/styles.css', 'package/styles.css.d.ts']),
  ]);
});

test.each(['client', 'react'])(
  'attw finds the types of %s by each resolution of modules',
  async (name) => {
    // The packages are ES modules, and the service worker is a file to serve.
    const options = '--ignore-rules cjs-resolves-to-esm --exclude-entrypoints push-service-worker.js';
    const args = ['--yes', '@arethetypeswrong/cli@0.18.5', packed(name), ...options.split(' ')];
    expect((await run('npx', args, { cwd: folder })).stdout).toContain('No problems found');
  },
  TIMEOUT_MS,
);

test('the client needs no other package, and follows the events of a gateway', {
  timeout: TIMEOUT_MS,
}, async () => {
  const cwd = await install(
    'alone',
    [packed('client')],
    ['typescript/examples/inbox.ts', 'typescript/examples/push.ts'],
  );
  const installed = await readdir(join(cwd, 'node_modules'));
  expect(installed.filter((name) => !name.startsWith('.'))).toEqual(['@workspace-account']);
  await compile(cwd);
  await publish(gateway, 'alone', 'task_failed', { title: 'Stored before' });

  const program = await start(cwd, 'inbox', 'alone', 'program.watchInbox(url, token);');
  onTestFinished(async () => void (await program.stop()));
  await program.waitForOutput(/Stored before/);
  await publish(gateway, 'alone', 'task_failed', { title: 'Arrives live' });
  await program.waitForOutput(/Arrives live/);
});

test('the documented programs for Apollo Client, urql and React compile and run', {
  timeout: TIMEOUT_MS,
}, async () => {
  const peers = await Promise.all(
    ['typescript', 'react'].map(async (name) => {
      const manifest = await readFile(join(repository, 'clients', name, 'package.json'), 'utf8');
      return Object.entries<string>(JSON.parse(manifest).devDependencies);
    }),
  );
  const needed = peers.flat().filter(([name]) => !/codegen|introspection|react-dom/.test(name));
  const packages = needed.map(([name, version]) => `${name}@${version}`);
  const cwd = await install(
    'with-peers',
    [packed('client'), packed('react'), 'graphql@16.15.0', ...packages],
    ['typescript/examples/apollo.ts', 'typescript/examples/urql.ts', 'react/examples/inbox.tsx'],
  );
  await compile(cwd);
  await publish(gateway, 'cached', 'task_failed', { title: 'In both caches' });

  for (const [program, create] of [
    ['apollo', 'createApolloClient'],
    ['urql', 'createUrqlClient'],
  ] as const) {
    const statement = `console.log(await program.listTitles(program.${create}(url, token)));`;
    const { ended } = await start(cwd, program, 'cached', statement);
    expect(await ended).toEqual({ status: 0, stdout: "[ 'In both caches' ]\n", stderr: '' });
  }
});
