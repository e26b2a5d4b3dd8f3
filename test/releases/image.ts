import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { captureOutput, type Process } from '../support/process.ts';

/** What a Dockerfile builds: a folder with its file system, and how to run it. */
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
 * the base image's. Returns the last stage.
 * @throws {Error} for an instruction, or a form of one, that our Dockerfile does not use
 */
export async function buildImage(dockerfile: string, ignore: string, folder: string): Promise<Image> {
  const sent = readDockerignore(ignore);
  const images = new Map<string, Image>();
  let image: Image | undefined;
  for (const line of logicalLines(dockerfile)) {
    const [word, text] = match(/^([A-Z]+)\s+(.*)$/, line);
    if (word === 'FROM') {
      const [, name = ''] = match(/^(\S+)(?: AS (\S+))?$/, text);
      image = await baseImage(join(folder, `stage-${images.size}`));
      images.set(name, image);
    } else {
      if (image === undefined) throw new Error(`Instruction before the first FROM: ${line}`);
      await apply(word, text, image, (from, source) => find(source, from, images, sent));
    }
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

async function baseImage(root: string): Promise<Image> {
  const node = join(root, 'usr/local/bin/node');
  await mkdir(dirname(node), { recursive: true });
  await cp(process.execPath, node);
  await chmod(node, 0o755);
  return { root, workingFolder: '/', environment: {}, user: 'root', command: [], healthcheck: [] };
}

type Find = (from: string, source: string) => string;

async function apply(word: string, text: string, image: Image, find: Find): Promise<void> {
  const folder = join(image.root, image.workingFolder);
  switch (word) {
    case 'WORKDIR':
      image.workingFolder = text;
      await mkdir(join(image.root, text), { recursive: true });
      return;
    case 'ENV':
      for (const pair of text.split(/\s+/)) {
        const [name, value] = match(/^(\w+)=([^"'$]+)$/, pair);
        image.environment[name] = value;
      }
      return;
    case 'COPY': {
      const [from, paths] = match(/^(?:--from=(\S+) )?([^-].*)$/, text);
      const sources = paths.split(/\s+/);
      const target = sources.pop() ?? '';
      for (const source of sources) {
        const to = join(folder, target.endsWith('/') ? join(target, source) : target);
        await cp(find(from, source), to, { recursive: true, verbatimSymlinks: true });
      }
      return;
    }
    case 'RUN':
      await promisify(execFile)('sh', ['-c', text], {
        cwd: folder,
        env: { ...buildEnvironment(), ...image.environment },
      });
      return;
    case 'USER':
      image.user = text;
      return;
    case 'CMD':
      image.command = execForm(text);
      return;
    case 'HEALTHCHECK':
      image.healthcheck = execForm(match(/^(?:--[\w-]+=\S+\s+)*CMD (.*)$/, text)[0]);
      return;
    case 'EXPOSE':
      return;
    default:
      throw new Error(`Unsupported instruction: ${word}`);
  }
}

/** Returns the path of a source, of the repository or of an earlier stage. */
function find(
  source: string,
  from: string,
  images: ReadonlyMap<string, Image>,
  sent: readonly string[],
): string {
  if (from === '') {
    if (!sent.includes(source)) throw new Error(`.dockerignore excludes "${source}".`);
    return join(repository, source);
  }
  const stage = images.get(from);
  if (stage === undefined) throw new Error(`There is no stage "${from}".`);
  return join(stage.root, source);
}

/** The machine's environment, needed to reach its package registry, with the image's Node.js first on the PATH. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const { NODE_ENV: _test, ...environment } = process.env;
  return { ...environment, PATH: `${dirname(process.execPath)}${delimiter}${environment.PATH}` };
}

/** Returns the names that a .dockerignore includes after excluding everything with `*`. */
function readDockerignore(text: string): string[] {
  const [all, ...kept] = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (all !== '*') throw new Error('The first line of .dockerignore must be "*".');
  return kept.map((line) => match(/^!([^*!]+)$/, line)[0]);
}

/** Parses the exec form, which starts no shell, so that signals reach the program. */
function execForm(text: string): string[] {
  const command: unknown = JSON.parse(text);
  if (!Array.isArray(command)) throw new Error(`Not in the exec form: ${text}`);
  return command.map(String);
}

const logicalLines = (text: string): string[] =>
  text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');

/** Returns the groups of a pattern. @throws {Error} if the text does not match it */
function match(pattern: RegExp, text: string): [string, string] {
  const [all, first, second] = pattern.exec(text) ?? [];
  if (all === undefined) throw new Error(`Unsupported form: ${text}`);
  return [first ?? '', second ?? ''];
}
