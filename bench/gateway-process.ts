import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** The gateway in a process of its own, on an embedded PostgreSQL in a folder of its own. */
export type GatewayProcess = {
  /** `http://127.0.0.1:4000`, with the port that was really taken. */
  address: string;
  /** Its resident memory in KiB. */
  memory(): Promise<number>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
};

const Package = z.object({ scripts: z.object({ start: z.string().startsWith('node ') }) });

/**
 * Starts the gateway as `npm start` does, with all its limits off.
 * @throws {Error} where it does not start, with what it printed
 */
export async function startGateway(settings: Record<string, string>): Promise<GatewayProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  // PostgreSQL does not run as root and enters by another account.
  await chmod(folder, 0o755);
  const child = spawn(process.execPath, await startArguments(), {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      DATA_DIR: folder,
      RATE_LIMIT_READS_PER_MINUTE: '0',
      RATE_LIMIT_WRITES_PER_MINUTE: '0',
      MAX_SUBSCRIBERS: '1000000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const address = await new Promise<string | undefined>((resolve) => {
    let printed = '';
    const read = (text: string) => {
      printed += text;
      const [, found] = /Listening on (http:\S+)/.exec(printed) ?? [];
      if (found !== undefined) resolve(found);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read).pipe(process.stderr);
    child.once('close', () => resolve(undefined));
  });
  // What it logs is thrown away, but has to be read.
  child.stdout.removeAllListeners('data').resume();
  if (address === undefined || child.pid === undefined) {
    await stop();
    throw new Error('The gateway did not start.');
  }
  const status = `/proc/${child.pid}/status`;
  return { address, stop, memory: async () => residentKib(await readFile(status, 'utf8')) };
}

async function startArguments(): Promise<string[]> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  return Package.parse(JSON.parse(text)).scripts.start.split(/\s+/).slice(1);
}

function residentKib(status: string): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  if (kib === undefined) throw new Error('The gateway is no longer there.');
  return Number(kib);
}
