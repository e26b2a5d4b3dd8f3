import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type ServerProcess, startServerProcess } from './server-process.ts';

const Package = z.object({ scripts: z.object({ start: z.string().startsWith('node ') }) });

/**
 * Starts the gateway as `npm start` does, in a process of its own, unless told otherwise on an embedded PostgreSQL in
 * a folder of its own and with all its limits off. `nodeOptions` go before the script.
 * @throws {Error} where it does not start, with what it printed
 */
export async function startGateway(
  settings: Record<string, string>,
  nodeOptions: readonly string[] = [],
): Promise<ServerProcess> {
  return startServerProcess({
    command: process.execPath,
    args: [...nodeOptions, ...(await startArguments())],
    environment: (folder) => ({
      PORT: '0',
      DATA_DIR: folder,
      RATE_LIMIT_READS_PER_MINUTE: '0',
      RATE_LIMIT_WRITES_PER_MINUTE: '0',
      MAX_SUBSCRIBERS: '1000000',
      ...settings,
    }),
  });
}

async function startArguments(): Promise<string[]> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  return Package.parse(JSON.parse(text)).scripts.start.split(/\s+/).slice(1);
}
