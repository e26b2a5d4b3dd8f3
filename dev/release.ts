import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printLine, runCommand } from '../src/commands/run-command.ts';
import { OperatorError } from '../src/errors/failure.ts';

// Releases the version of package.json: dates its section of the change log, commits and tags it, packs the clients, writes
// the bill of materials and builds the image. Nothing is pushed or published.

const UNRELEASED = '## [Unreleased]\n\n';

const accepted = { options: { image: { type: 'boolean', default: true } }, allowNegative: true } as const;

runCommand('npm run release [-- --no-image]', accepted, async ({ values }) => release(values.image));

/** @throws {OperatorError} before the first change if the release cannot be completed, with what to do */
function release(image: boolean): void {
  const version: unknown = JSON.parse(readFileSync('package.json', 'utf8')).version;
  const tag = `v${version}`;
  const changes = readFileSync('CHANGELOG.md', 'utf8');
  if (run('git', 'status', '--porcelain') !== '')
    throw new OperatorError('Commit or remove all changes first.');
  if (run('git', 'branch', '--show-current') !== 'main') throw new OperatorError('Check out main first.');
  if (run('git', 'tag', '--list', tag) !== '')
    throw new OperatorError(`${tag} exists. Raise "version" in package.json and commit it.`);
  if (!changes.includes(UNRELEASED)) throw new OperatorError('CHANGELOG.md has no section "[Unreleased]".');
  if (image) run('docker', 'version');
  const materials = listMaterials();

  const today = new Date().toISOString().slice(0, 10);
  writeFileSync('CHANGELOG.md', changes.replace(UNRELEASED, `${UNRELEASED}## [${version}] - ${today}\n\n`));
  run('git', 'commit', '--all', '--message', `Release ${version}`);
  run('git', 'tag', '--annotate', tag, '--message', `Release ${version}`);
  mkdirSync('release', { recursive: true });
  for (const client of ['clients/typescript', 'clients/react'])
    run('npm', 'pack', '--workspace', client, '--pack-destination', 'release');
  writeFileSync(`release/workspace-account-gateway-${version}.cdx.json`, `${materials}\n`);
  if (image) run('docker', 'build', '--tag', `workspace-account-gateway:${version}`, '.');
  printLine(`Released ${version}: ${tag}, release/${image ? ', the image' : ''}.`);
  printLine('Next: git push --follow-tags, and record the commit in docs/releases.md.');
}

/**
 * Returns the packages that `npm ci` installs in the image. npm lists all of them only where no workspace and no
 * development dependency needs them too, and names the list after its folder.
 */
function listMaterials(): string {
  const temporary = mkdtempSync(join(tmpdir(), 'release-'));
  const folder = join(temporary, 'workspace-account-gateway');
  try {
    mkdirSync(folder);
    const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
    for (const field of ['workspaces', 'devDependencies', 'optionalDependencies']) delete manifest[field];
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    for (const file of ['package-lock.json', '.npmrc']) copyFileSync(file, join(folder, file));
    run('npm', 'install', '--prefix', folder, '--package-lock-only', '--offline', '--ignore-scripts');
    const options = ['--package-lock-only', '--omit=optional', '--sbom-type=application'];
    return run('npm', 'sbom', '--prefix', folder, '--sbom-format=cyclonedx', ...options);
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** Runs a program and returns its output. @throws {OperatorError} with its error output if it fails */
function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (error) throw new OperatorError(`${program} could not be started: ${error.message}`);
  if (status !== 0) throw new OperatorError(`${[program, ...args].join(' ')} failed:\n${stderr.trim()}`);
  return stdout.trim();
}
