import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readStat } from './processor-time.ts';

/** A server process with a temporary folder. */
export type ServerProcess = {
  /** The URL with the actual port: `http://127.0.0.1:4000`. */
  readonly address: string;
  /** Returns the resident memory in KiB. */
  memory(): Promise<number>;
  /** Returns the maximum resident memory in KiB since the last reset. */
  peakMemory(): Promise<number>;
  resetPeakMemory(): Promise<void>;
  /** Returns the processor time in milliseconds, with a resolution of 10. */
  processorTime(): Promise<number>;
  /** Truncates the log file. */
  truncateLog(): Promise<void>;
  /** Returns the last log lines that are not successful requests. */
  readErrors(): Promise<string>;
  /** Stops the server and deletes its folder. */
  stop(): Promise<void>;
};

/** The command of a server. The environment may depend on its folder. */
export type ServerOptions = {
  command: string;
  args: readonly string[];
  environment: (folder: string) => Record<string, string>;
  /** Whether the command starts the server as a child without forwarding signals, as npm does. */
  isLauncher?: boolean;
};

const POLL_MS = 5;

/**
 * Starts a server and waits until it prints `Listening on http://...`. Its log is written to a file, as in production.
 * @throws {Error} with its output if it does not start
 */
export async function startServerProcess(options: ServerOptions): Promise<ServerProcess> {
  const { isLauncher = false } = options;
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // As root, PostgreSQL runs as another account, which must be able to enter.
  await chmod(folder, 0o755);
  const log = join(folder, 'log');
  // Opened for appending, so that it can be truncated at any time.
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
    // A negative ID signals the whole process group.
    const id = isLauncher ? -(child.pid ?? Number.NaN) : (child.pid ?? Number.NaN);
    sendSignal(id, 'SIGTERM');
    while (sendSignal(id, 0)) await pause(POLL_MS);
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
  const procPath = (name: string) => `/proc/${child.pid}/${name}`;
  return {
    address,
    stop,
    memory: async () => parseKib('VmRSS', await readFile(procPath('status'), 'utf8')),
    peakMemory: async () => parseKib('VmHWM', await readFile(procPath('status'), 'utf8')),
    resetPeakMemory: () => writeFile(procPath('clear_refs'), '5'),
    processorTime: async () => (await readStat(child.pid ?? Number.NaN)).own,
    truncateLog: () => truncate(log),
    readErrors: async () => findErrorLines(await readLog()),
  };
}

/** Sends a signal; returns whether the process exists. */
function sendSignal(id: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(id, name);
  } catch {
    return false;
  }
}

const MAX_ERROR_LINES = 5;

function findErrorLines(log: string): string {
  const lines = log.split('\n').filter((line) => line !== '' && !line.includes('"status":200'));
  return lines.slice(-MAX_ERROR_LINES).join('\n');
}

function parseKib(name: string, status: string): number {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  if (kib === undefined) throw new Error('The server has exited.');
  return Number(kib);
}
