import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** What a program has written and how it ended. */
export type Ended = { status: number | null; stdout: string; stderr: string };

/** A program of the gateway in a process of its own. */
export type Process = {
  pid: number;
  stdout(): string;
  /** Waits until standard output matches, and answers the first group; fails when the program ends before. */
  printed(pattern: RegExp): Promise<string>;
  /** Reads no more of what it writes. */
  ignore(): void;
  /** Leaves what it writes to standard output unread until {@link resume}. */
  pause(): void;
  resume(): void;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
  ended: Promise<Ended>;
};

/** Where `npm start` keeps what Node.js compiled; whoever starts often does well to share it. */
export const compileCache = fileURLToPath(new URL('../../node_modules/.cache/gateway', import.meta.url));

/** Starts a program by its path in the repository, with exactly these environment variables of the gateway's. */
export function startProcess(
  program: string,
  environment: Record<string, string>,
  options: readonly string[] = [],
): Process {
  const path = fileURLToPath(new URL(`../../${program}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...options], {
    env: { NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return follow(child, program);
}

/** Follows what a program writes and how it ends. */
export function follow(child: ChildProcessByStdio<null, Readable, Readable>, program: string): Process {
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
    async printed(pattern) {
      for (;;) {
        const match = pattern.exec(stdout);
        if (match) return match[1] ?? match[0];
        const end = await Promise.race([ended, once(child.stdout, 'data')]);
        if ('status' in end && !pattern.test(stdout)) {
          throw new Error(`${program} ended with ${end.status} and printed:\n${stdout}${stderr}`);
        }
      }
    },
    ignore() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
    ended,
  };
}

/** Runs a program to its end. */
export async function runProcess(
  program: string,
  environment: Record<string, string>,
  options: readonly string[] = [],
): Promise<Ended> {
  return startProcess(program, environment, options).ended;
}

/** The gateway in a process of its own, and where it listens. */
export type GatewayProcess = Process & { address: string };

/** Starts the gateway, on any free port, and waits until it listens. */
export async function startGatewayProcess(environment: Record<string, string>): Promise<GatewayProcess> {
  const gateway = startProcess('src/main.ts', { PORT: '0', ...environment });
  return { ...gateway, address: await gateway.printed(/Listening on (http:\/\/[^\s"]+)/) };
}

/** Output without the line that tells where PostgreSQL lies when it is started as root in a folder closed to others. */
export function withoutPlace(text: string): string {
  return text.replace(/^PostgreSQL refuses to run as root.*\n/m, '');
}
