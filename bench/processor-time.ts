import { readdir, readFile } from 'node:fs/promises';

/** What Linux knows of a process (proc_pid_stat(5)); times in milliseconds, to a hundredth of a second. */
export type ProcessStat = {
  parent: number;
  /** User and system time of the process itself. */
  own: number;
  /** The same of its children that have ended. */
  ended: number;
};

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** Reads the text of `/proc/<pid>/stat`: the 2nd value, a name, ends with the last `)`. */
export function parseStat(text: string): ProcessStat {
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (position: number) => Number(values[position - 3]);
  return { parent: at(4), own: (at(14) + at(15)) * TICK_MS, ended: (at(16) + at(17)) * TICK_MS };
}

/** The state of a process. @throws {Error} if it has ended */
export async function readStat(pid: number): Promise<ProcessStat> {
  return parseStat(await readFile(`/proc/${pid}/stat`, 'utf8'));
}

/** Processor time that a process and all its children, also ended ones, have used so far, in milliseconds. */
export async function familyTime(pid: number): Promise<number> {
  const others = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // A process may end while its file is read: then its parent counts its time.
  const stats = await Promise.all(others.map((other) => readStat(Number(other)).catch(() => undefined)));
  const { own, ended } = await readStat(pid);
  return stats.reduce((sum, stat) => (stat?.parent === pid ? sum + stat.own : sum), own + ended);
}
