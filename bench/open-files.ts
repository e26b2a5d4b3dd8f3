import { readFile } from 'node:fs/promises';

/**
 * Node.js raises its own limit as far as it may; what is left is for the operator to raise.
 * @throws {Error} where a process may not open so many connections
 */
export async function checkOpenFiles(connections: number): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => {
    throw new Error('This measures by /proc, which only Linux has.');
  });
  const [, limit] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  const needed = connections + OTHER_FILES;
  if (limit === undefined || Number(limit) >= needed) return;
  throw new Error(
    `A process may open ${limit} files here, and ${connections} subscribers need ${needed}. Raise it: ulimit -n ${needed}`,
  );
}

/** Files that a process has open besides its subscribers, well rounded up. */
const OTHER_FILES = 200;
