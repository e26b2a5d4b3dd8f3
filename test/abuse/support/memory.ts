import { readFileSync, writeFileSync } from 'node:fs';

/** Returns the peak resident memory of a process since the last reset, in MiB. */
export function peakMemoryMiB(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status has no VmHWM.`);
  return Number(kilobytes) / 1024;
}

/** Resets the peak resident memory of a process (proc(5), `clear_refs`). */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
