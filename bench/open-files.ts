import { readFile } from 'node:fs/promises';

/**
 * Checks the limit of open files, which Node.js has already raised as far as permitted.
 * @throws {Error} if a process cannot open this many connections
 */
export async function checkOpenFiles(connections: number): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => {
    throw new Error('This benchmark reads /proc, so it runs only on Linux.');
  });
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  const needed = connections + OTHER_FILES;
  if (limit === undefined || Number(limit) >= needed) return;
  throw new Error(
    `The limit of open files is ${limit}, and ${connections} subscribers need ${needed}. Raise it: ulimit -n ${needed}`,
  );
}

/** Files that a process opens besides the connections, rounded up. */
const OTHER_FILES = 200;
