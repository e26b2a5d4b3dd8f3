import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** A start script: variables, `node`, arguments. */
const Start = /^(?:exec env )?((?:\w+=\S+ )*)node (.+)$/;
const Package = z.object({ scripts: z.object({ start: z.string().regex(Start) }) });

/**
 * Starts the gateway in a process, with the command of `npm start`. Defaults to an embedded PostgreSQL in a temporary
 * folder and no limits. `nodeOptions` precede the script.
 * @throws {Error} with its output if it does not start
 */
export async function startGateway(
  settings: Record<string, string>,
  nodeOptions: readonly string[] = [],
): Promise<ServerProcess> {
  const { variables, args } = await readStartScript();
  return startServerProcess({
    command: process.execPath,
    args: [...nodeOptions, ...args],
    environment: (folder) => ({
      ...variables,
      PORT: '0',
      DATA_DIR: folder,
      RATE_LIMIT_READS_PER_MINUTE: '0',
      RATE_LIMIT_WRITES_PER_MINUTE: '0',
      MAX_SUBSCRIBERS: '1000000',
      ...settings,
    }),
  });
}

async function readStartScript(): Promise<{ variables: Record<string, string>; args: string[] }> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const [, variables = '', args = ''] = Start.exec(Package.parse(JSON.parse(text)).scripts.start) ?? [];
  return {
    variables: Object.fromEntries(
      variables.split(' ').flatMap((text) => [text.split('=', 2)].filter(isPair)),
    ),
    args: args.split(' '),
  };
}

function isPair(parts: string[]): parts is [string, string] {
  return parts.length === 2;
}
