import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { captureOutput, type Ended, type Process } from '../support/process.ts';
import { type Instruction, readDockerignore, type Stage } from './dockerfile.ts';

/** The result of building a Dockerfile: a folder with its file system, and how to run it. */
export type Image = {
  root: string;
  /** Relative to `root`. */
  workingFolder: string;
  environment: Record<string, string>;
  user: string;
  command: string[];
  healthcheck: string[];
};

/** An account without privileges, in place of the base image's user; it exists on every Linux. */
const NOBODY = { uid: 65_534, gid: 65_534 };

const repository = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Executes the instructions of every stage in a folder, with this machine's npm and this process's Node.js in place of
 * the base image's.
 */
export async function buildImage(stages: readonly Stage[], ignore: string, folder: string): Promise<Image> {
  const sent = readDockerignore(ignore);
  const images = new Map<string, Image>();
  let image: Image | undefined;
  for (const [index, { name, instructions }] of stages.entries()) {
    image = await baseImage(join(folder, `stage-${index}`));
    if (name !== undefined) images.set(name, image);
    for (const instruction of instructions) await apply(instruction, image, images, sent);
  }
  if (image === undefined) throw new Error('The Dockerfile has no stage.');
  return image;
}

/** Starts a command as in the container, with additional environment variables. */
export function runImage(
  image: Image,
  environment: Record<string, string>,
  command = image.command,
): Process {
  const [program = '', ...options] = command;
  const child = spawn(program, options, {
    cwd: join(image.root, image.workingFolder),
    env: { PATH: join(image.root, 'usr/local/bin'), ...image.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(process.getuid?.() === 0 && image.user !== 'root' && NOBODY),
  });
  return captureOutput(child, command.join(' '));
}

/** Runs a command as in the container and waits for its exit. */
export function runInImage(
  image: Image,
  environment: Record<string, string>,
  command: string[],
): Promise<Ended> {
  return runImage(image, environment, command).ended;
}

async function baseImage(root: string): Promise<Image> {
  const node = join(root, 'usr/local/bin/node');
  await mkdir(dirname(node), { recursive: true });
  await cp(process.execPath, node);
  await chmod(node, 0o755);
  return { root, workingFolder: '/', environment: {}, user: 'root', command: [], healthcheck: [] };
}

async function apply(
  instruction: Instruction,
  image: Image,
  images: ReadonlyMap<string, Image>,
  sent: readonly string[],
): Promise<void> {
  switch (instruction.name) {
    case 'WORKDIR':
      image.workingFolder = instruction.text;
      await mkdir(join(image.root, instruction.text), { recursive: true });
      return;
    case 'ENV':
      Object.assign(image.environment, instruction.variables);
      return;
    case 'COPY':
      for (const source of instruction.sources) {
        await copy(await findSource(source, instruction.from, images, sent), instruction, source, image);
      }
      return;
    case 'RUN':
      await promisify(execFile)('sh', ['-c', instruction.text], {
        cwd: join(image.root, image.workingFolder),
        env: { ...buildEnvironment(), ...image.environment },
      });
      return;
    case 'USER':
      image.user = instruction.text;
      return;
    case 'CMD':
      image.command = instruction.command;
      return;
    case 'HEALTHCHECK':
      image.healthcheck = instruction.command;
      return;
    case 'EXPOSE':
      return;
  }
}

async function findSource(
  source: string,
  from: string | undefined,
  images: ReadonlyMap<string, Image>,
  sent: readonly string[],
): Promise<string> {
  if (from === undefined) {
    if (!sent.includes(source)) throw new Error(`.dockerignore excludes "${source}".`);
    return join(repository, source);
  }
  const stage = images.get(from);
  if (stage === undefined) throw new Error(`There is no stage "${from}".`);
  return join(stage.root, source);
}

async function copy(
  from: string,
  { target }: { target: string },
  source: string,
  image: Image,
): Promise<void> {
  const place = join(image.root, image.workingFolder, target.endsWith('/') ? join(target, source) : target);
  await cp(from, place, { recursive: true, verbatimSymlinks: true });
}

/** The machine's environment, needed to reach its package registry, with the image's Node.js first on the PATH. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const { NODE_ENV: _test, ...environment } = process.env;
  return { ...environment, PATH: `${dirname(process.execPath)}${delimiter}${environment.PATH}` };
}
