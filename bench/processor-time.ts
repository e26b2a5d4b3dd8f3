import { readdir, readFile } from 'node:fs/promises';

/** The status of a process on Linux (proc_pid_stat(5)). Times are in milliseconds, with a resolution of 10. */
export type ProcessStat = {
  parent: number;
  /** User and system time of the process. */
  own: number;
  /** User and system time of its children that have exited. */
  ended: number;
};

/** The unit of processor time in `/proc`. */
const TICK_MS = 10;

/** Parses `/proc/<pid>/stat`. The second value is a name that ends with the last `)`. */
export function parseStat(text: string): ProcessStat {
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (position: number) => Number(values[position - 3]);
  return { parent: at(4), own: (at(14) + at(15)) * TICK_MS, ended: (at(16) + at(17)) * TICK_MS };
}

/** Reads the status of a process. @throws {Error} if it has exited */
export async function readStat(pid: number): Promise<ProcessStat> {
  return parseStat(await readFile(`/proc/${pid}/stat`, 'utf8'));
}

/** Returns the processor time of a process and its children, including exited ones, in milliseconds. */
export async function readFamilyTime(pid: number): Promise<number> {
  const others = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // The time of a process that exits meanwhile is counted by its parent.
  const stats = await Promise.all(others.map((other) => readStat(Number(other)).catch(() => undefined)));
  const { own, ended } = await readStat(pid);
  return stats.reduce((sum, stat) => (stat?.parent === pid ? sum + stat.own : sum), own + ended);
}
