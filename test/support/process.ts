import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';

/** The exit status and output of a program. */
export type Ended = { status: number | null; stdout: string; stderr: string };

/** A running program. */
export type Process = ReturnType<typeof captureOutput>;

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Node.js's compile cache, shared with `npm start`, so that processes start faster. */
export const compileCache = join(repository, 'node_modules/.cache/gateway');

/**
 * Starts the bundle of a program, which is named by its path in the repository. Only the given environment variables
 * and `NODE_COMPILE_CACHE` are set.
 */
export function startProcess(
  program: Program,
  environment: Record<string, string>,
  options: readonly string[] = [],
): Process {
  const child = spawn(process.execPath, [findBundle(program), ...options], {
    env: { NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return captureOutput(child, program);
}

/** Records a program's output and its exit. */
export function captureOutput(child: ChildProcessByStdio<null, Readable, Readable>, program: string) {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} cannot be started.`);
  const ended = once(child, 'close').then(([status]): Ended => ({ status, stdout, stderr }));

  return {
    pid,
    stdout: () => stdout,
    stderr: () => stderr,
    /** Waits until standard output matches, and returns the first group; throws if the program exits first. */
    async waitForOutput(pattern: RegExp): Promise<string> {
      for (;;) {
        const match = pattern.exec(stdout);
        if (match) return match[1] ?? match[0];
        const end = await Promise.race([ended, once(child.stdout, 'data')]);
        if ('status' in end && !pattern.test(stdout)) {
          throw new Error(`${program} ended with ${end.status} and printed:\n${stdout}${stderr}`);
        }
      }
    },
    /** Closes its standard output, to which the log is written. */
    closeOutput: () => void child.stdout.destroy(),
    /** Stops reading standard output until `resume`. */
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
    /** Sends a signal and waits for the exit. */
    stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
      child.kill(signal);
      return ended;
    },
    ended,
  };
}

/** Runs a program and waits for its exit. */
export const runProcess = (...given: Parameters<typeof startProcess>): Promise<Ended> =>
  startProcess(...given).ended;

/** A gateway process and its address. */
export type GatewayProcess = Process & { address: string };

/** Starts a gateway on a free port and waits until it listens. */
export async function startGatewayProcess(environment: Record<string, string>): Promise<GatewayProcess> {
  const gateway = startProcess('src/main.ts', { PORT: '0', ...environment });
  return { ...gateway, address: await gateway.waitForOutput(/Listening on (http:\/\/[^\s"]+)/) };
}

/**
 * Removes the line that reports the location of PostgreSQL's files, which is printed if root starts it in a private
 * folder.
 */
export function removeLocationNotice(text: string): string {
  return text.replace(/^PostgreSQL refuses to run as root.*\n/m, '');
}

/*
 * Loading 1,600 modules takes most of a program's start. In a bundle, they load in 0.4 s of processor time instead of
 * 1 s, and the tests start about 80 programs. Commands that users type, such as `npm start`, run the sources.
 */

/** The programs that tests start, by their paths in the repository. */
export const programs = [
  'src/main.ts',
  'src/worker.ts',
  'src/commands/await-ready.ts',
  'src/commands/dev.ts',
  'src/commands/migrate.ts',
  'src/commands/renew-epoch.ts',
  'src/commands/rotate-keys.ts',
  'src/commands/seed.ts',
  'src/commands/settings.ts',
  'src/commands/token.ts',
  'src/commands/vapid-key.ts',
] as const;

/** The path of a program in the repository. */
type Program = (typeof programs)[number];

/**
 * In the repository, because programs resolve some packages at run time. The name differs between copies of the
 * repository, which can share the packages, because bundles contain paths.
 */
const bundles = join(repository, `node_modules/.cache/programs-${hash('sha256', repository).slice(0, 8)}`);
const findBundle = (program: Program) => join(bundles, `${program}.mjs`);

/** Sources find other files relative to their own URL. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform: {
    filter: { id: { exclude: /\/node_modules\// }, code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id))),
  },
};

/** Bundles the programs. Writes only what has changed, because another run may be starting them. */
export async function bundlePrograms(): Promise<void> {
  const { output } = await build({
    input: Object.fromEntries(programs.map((program) => [program, join(repository, program)])),
    platform: 'node',
    plugins: [keepUrls],
    write: false,
    output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
  });
  for (const file of output) {
    const path = join(bundles, file.fileName);
    const text = file.type === 'chunk' ? file.code : file.source;
    if ((await readFile(path, 'utf8').catch(() => undefined)) === text) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
