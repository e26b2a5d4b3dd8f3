import { readFileSync } from 'node:fs';

/** Clock ticks in a second, as Linux reports them (proc(5), sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;

/** The processor time that a process has used, in milliseconds, to 10 ms. */
export function processorTimeMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program is in parentheses, and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return ((user + system) * 1000) / TICKS_PER_SECOND;
}
