import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { freePort } from '../support/servers.ts';

/** A real Redis without persistence, in its own process. */
export type TestRedis = {
  url: string;
  /** Kills the server, like a crash. */
  kill(): Promise<void>;
  /** Starts the server again at the same address. */
  start(): Promise<void>;
  /** Stops replying until {@link resume}; connections stay open. */
  suspend(): void;
  resume(): void;
};

/** Whether `redis-server` is installed. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Starts Redis on a free port of the loopback address. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  let child = await run(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    async start() {
      child = await run(port);
    },
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  };
}

async function run(port: number) {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()];
  const child = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  while (!printed.includes('Ready to accept connections')) {
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`redis-server ended:\n${printed}`);
  }
  return child;
}
