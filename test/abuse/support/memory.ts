import { readFileSync, writeFileSync } from 'node:fs';

/** The largest resident memory of a process since it was last reset, in MiB. */
export function peakMemoryMiB(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status has no VmHWM.`);
  return Number(kilobytes) / 1024;
}

/** Resets the largest resident memory of a process to the present one (proc(5), `clear_refs`). */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
