import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readStat } from './processor-time.ts';

/** A server in a process of its own, with a folder of its own. */
export type ServerProcess = {
  /** `http://127.0.0.1:4000`, with the port that was really taken. */
  readonly address: string;
  /** Its resident memory in KiB. */
  memory(): Promise<number>;
  /** The most resident memory in KiB since it was last forgotten. */
  peakMemory(): Promise<number>;
  forgetPeakMemory(): Promise<void>;
  /** Processor time that it has used so far, in milliseconds, to a hundredth of a second. */
  processorTime(): Promise<number>;
  /** Empties its log: what requests write is written for real, but need not be kept. */
  emptyLog(): Promise<void>;
  /** The end of what it wrote, but for the lines of requests that went well. */
  complaints(): Promise<string>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
};

/** How to start one; the environment may depend on its folder. */
export type ServerOptions = {
  command: string;
  args: readonly string[];
  environment: (folder: string) => Record<string, string>;
  /** Whether the command runs the server in a process of its own, to which it passes no signal, as npm does. */
  isLauncher?: boolean;
};

const POLL_MS = 5;

/**
 * Starts a server and waits until it says `Listening on http://...`. Its log goes to a file, as it does in use.
 * @throws {Error} where it does not start, with what it printed
 */
export async function startServerProcess(options: ServerOptions): Promise<ServerProcess> {
  const { isLauncher = false } = options;
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // PostgreSQL does not run as root and enters by another account.
  await chmod(folder, 0o755);
  const log = join(folder, 'log');
  // Opened for appending: it can be emptied while it is written.
  const file = await open(log, 'a');
  const child = spawn(options.command, options.args, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.environment(folder) },
    stdio: ['ignore', file.fd, file.fd],
    detached: isLauncher,
  });
  await once(child, 'spawn');
  await file.close();
  const stop = async () => {
    // The negative number stands for the whole group of a detached process.
    const id = isLauncher ? -(child.pid ?? Number.NaN) : (child.pid ?? Number.NaN);
    signal(id, 'SIGTERM');
    while (signal(id, 0)) await pause(POLL_MS);
    await rm(folder, { recursive: true, force: true });
  };
  const readLog = () => readFile(log, 'utf8');
  let address: string | undefined;
  while (address === undefined) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const printed = await readLog();
    [, address] = /Listening on (http:[^\s"]+)/.exec(printed) ?? [];
    if (address === undefined && hasEnded) {
      await stop();
      throw new Error(`${options.command} ${options.args.join(' ')} did not start:\n${printed}`);
    }
    if (address === undefined) await pause(POLL_MS);
  }
  const about = (name: string) => `/proc/${child.pid}/${name}`;
  return {
    address,
    stop,
    memory: async () => statusKib('VmRSS', await readFile(about('status'), 'utf8')),
    peakMemory: async () => statusKib('VmHWM', await readFile(about('status'), 'utf8')),
    forgetPeakMemory: () => writeFile(about('clear_refs'), '5'),
    processorTime: async () => (await readStat(child.pid ?? Number.NaN)).own,
    emptyLog: () => truncate(log),
    complaints: async () => complaintsIn(await readLog()),
  };
}

/** Sends a signal and answers whether there was anybody to take it. */
function signal(id: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(id, name);
  } catch {
    return false;
  }
}

/** Lines at the end of a log that are told. */
const TOLD = 5;

function complaintsIn(log: string): string {
  const lines = log.split('\n').filter((line) => line !== '' && !line.includes('"status":200'));
  return lines.slice(-TOLD).join('\n');
}

function statusKib(name: string, status: string): number {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  if (kib === undefined) throw new Error('The server is no longer there.');
  return Number(kib);
}
