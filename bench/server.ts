import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Collections } from './collections.ts';

/** The folder of the repository. */
export const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));

/** A server process with a temporary folder. */
export type Server = Awaited<ReturnType<typeof startServer>>;

type ServerOptions = {
  /** The arguments of Node.js; of npm if it `isLauncher`, which starts the server without forwarding signals. */
  args: readonly string[];
  environment: Record<string, string>;
  cwd?: string;
  isLauncher?: boolean;
};

const POLL_MS = 5;
const COLLECTIONS = new URL('./collections.ts', import.meta.url).href;

/** Creates a folder that the account of the embedded PostgreSQL can enter. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  await chmod(folder, 0o755);
  return folder;
}

/**
 * Starts a server and waits until it prints `Listening on http://...`. Its log is written to a file, as in production.
 * @throws {Error} with its output if it does not start
 */
export async function startServer({ args, environment, cwd, isLauncher }: ServerOptions) {
  const folder = await makeFolder();
  const log = join(folder, 'log');
  const file = await open(log, 'a');
  const command = isLauncher ? 'npm' : process.execPath;
  const child = spawn(command, isLauncher ? args : ['--expose-gc', '--import', COLLECTIONS, ...args], {
    cwd: cwd ?? REPOSITORY,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', DATA_DIR: folder, ...environment },
    stdio: ['ignore', file.fd, file.fd, ...(isLauncher ? [] : ['ipc' as const])],
    detached: isLauncher,
  });
  await once(child, 'spawn');
  await file.close();
  const pid = child.pid ?? Number.NaN;
  const stop = async () => {
    // A negative ID signals the whole process group.
    const group = isLauncher ? -pid : pid;
    sendSignal(group, 'SIGTERM');
    while (sendSignal(group, 0)) await pause(POLL_MS);
    await rm(folder, { recursive: true, force: true });
  };
  const readLog = () => readFile(log, 'utf8');
  const findAddress = async () => /Listening on (http:[^\s"]+)/.exec(await readLog())?.[1];
  let address = await findAddress();
  while (address === undefined && child.exitCode === null && child.signalCode === null) {
    await pause(POLL_MS);
    address = await findAddress();
  }
  if (address === undefined) {
    const printed = await readLog();
    await stop();
    throw new Error(`${command} ${args.join(' ')} did not start:\n${printed}`);
  }
  return {
    /** The URL with the actual port: `http://127.0.0.1:4000`. */
    address,
    /** Stops the server and deletes its folder. */
    stop,
    /** Returns the processor time in milliseconds. */
    processorTime: () => readProcessorTime(pid),
    /** Returns what V8 has collected since the last call; `collect` collects all garbage first. */
    async collections(message: 'statistics' | 'collect' = 'statistics'): Promise<Collections> {
      const reply = once(child, 'message');
      child.send(message);
      const [collections]: Collections[] = await reply;
      return collections ?? { pauseMs: Number.NaN, promotedKib: Number.NaN };
    },
    /** Returns the resident memory in MiB: now, and its maximum since the last call. */
    async memory() {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      await writeFile(`/proc/${pid}/clear_refs`, '5');
      return { now: parseMib('VmRSS', status), peak: parseMib('VmHWM', status) };
    },
    /** Returns the last lines of the log that are no successful requests. */
    async readErrors() {
      const lines = (await readLog()).split('\n').filter((line) => line && !line.includes('"status":200'));
      return lines.slice(-5).join('\n');
    },
  };
}

/** Returns the processor time of all threads of a process in milliseconds, with a resolution of nanoseconds. */
export async function readProcessorTime(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const read = (task: string) => readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8').catch(() => '0');
  const texts = await Promise.all(tasks.map(read));
  return texts.reduce((sum, text) => sum + Number(text.split(' ', 1)[0]) / 1e6, 0);
}

/** Sends a signal; returns whether the process exists. */
function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

const parseMib = (name: string, status: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
